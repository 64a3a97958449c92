package vm

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

const (
	consoleFile = "console.log"
	// rotations is how many old logs virtlogd keeps, as console.log.0 (the newest) and on.
	rotations = 3
	// consoleChunk bounds how much of the console is read at once, in bytes.
	consoleChunk = 1 << 20
	lineLength   = 200
)

// position is a place in the console's log. Inode zero stands for a log that does not exist yet.
type position struct {
	Inode  uint64 `json:"inode,omitempty"`
	Offset int64  `json:"offset,omitempty"`
}

// consoleEnd is where a log ends now.
func consoleEnd(path string) position {
	info, err := os.Stat(path)
	if err != nil {
		return position{}
	}
	return position{inode(info), info.Size()}
}

func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// readConsole returns what was written since a position, and the position after it. A log that was rotated meanwhile is
// read to its end first.
func readConsole(path string, from position) ([]byte, position, error) {
	current := consoleEnd(path)
	if current.Inode == from.Inode && current.Offset >= from.Offset {
		return readChunk(path, from)
	}
	if old := consoleEnd(path + ".0"); from.Inode != 0 && old.Inode == from.Inode && old.Offset > from.Offset {
		return readChunk(path+".0", from)
	}
	return readChunk(path, position{Inode: current.Inode})
}

func readChunk(path string, from position) ([]byte, position, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, from, nil
	}
	if err != nil {
		return nil, from, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.NewSectionReader(f, from.Offset, consoleChunk))
	from.Offset += int64(len(data))
	return data, from, err
}

// lineFinder looks for a text in output that comes in pieces.
type lineFinder struct {
	want string
	kept string
}

// found adds a piece and reports whether the text has been seen.
func (f *lineFinder) found(piece []byte) bool {
	text := f.kept + string(piece)
	if strings.Contains(text, f.want) {
		return true
	}
	f.kept = text[max(0, len(text)-len(f.want)+1):]
	return false
}

// cleanLine is a line of the console as it is safe to show: without escape sequences and control characters.
func cleanLine(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		if skip := escapeLength(s[i:]); skip > 0 {
			i += skip
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == '\t' || !unicode.IsControl(r) {
			out.WriteRune(r)
		}
		i += size
	}
	return strings.TrimRight(out.String(), " \t")
}

// escapeLength is the length of the terminal's control sequence that s begins with, or zero.
func escapeLength(s string) int {
	if len(s) < 2 || s[0] != 0x1b {
		return 0
	}
	if s[1] != '[' {
		return 2
	}
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
	}
	return len(s)
}
