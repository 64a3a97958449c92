package vm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestReadConsoleSinceBoot(t *testing.T) {
	path := filepath.Join(t.TempDir(), consoleFile)
	at := consoleEnd(path)
	read := func() string {
		t.Helper()
		piece, next, err := readConsole(path, at)
		require.NoError(t, err)
		at = next
		return string(piece)
	}
	require.Empty(t, read(), "no log yet")
	appendTo(t, path, "first boot\n")
	require.Equal(t, "first boot\n", read())

	at = consoleEnd(path)
	require.Empty(t, read(), "what an earlier boot wrote does not count")
	appendTo(t, path, "second ")
	require.Equal(t, "second ", read())

	appendTo(t, path, "boot\n")
	require.NoError(t, os.Rename(path, path+".0"))
	appendTo(t, path, "after the rotation\n")
	require.Equal(t, "boot\n", read(), "the rotated log is read to its end")
	require.Equal(t, "after the rotation\n", read())
	require.Empty(t, read())
}

func TestLineFinderAcrossPieces(t *testing.T) {
	for _, pieces := range [][]string{{"xx GUEST-READY"}, {"GUES", "T-RE", "ADY"}, {"GGUEST-READ", "GUEST-READY"}, {"a", "", "GUEST-READY\n"}} {
		f := lineFinder{want: "GUEST-READY"}
		for i, piece := range pieces {
			require.Equal(t, i == len(pieces)-1, f.found([]byte(piece)), pieces)
		}
	}
}

func TestCleanLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain\r":                      "plain",
		"\x1b[0;32m  OK  \x1b[0m Done": "  OK   Done",
		"\x1bcreset":                   "reset",
		"\x1b[":                        "",
		"bell\a and\ttab ":             "bell and\ttab",
		"grün \xff":                    "grün \uFFFD",
		"\u009b31m":                    "31m",
	} {
		require.Equal(t, want, cleanLine(in), "%q", in)
	}
}

func FuzzCleanLine(f *testing.F) {
	f.Add("\x1b[0;1mx\r")
	f.Add("\xff\x1b")
	f.Fuzz(func(t *testing.T, s string) {
		got := cleanLine(s)
		require.True(t, utf8.ValidString(got))
		require.NotContains(t, got, "\x1b")
		require.Equal(t, got, cleanLine(got))
	})
}

func TestConsoleTailOverRotations(t *testing.T) {
	path := filepath.Join(t.TempDir(), consoleFile)
	tail := func(n int) []string {
		t.Helper()
		lines, err := consoleTail(context.Background(), path, n)
		require.NoError(t, err)
		return lines
	}
	require.Empty(t, tail(10))
	appendTo(t, path+".1", "1\r\n2\r\n")
	appendTo(t, path+".0", "3\r\n4\r\n")
	require.Equal(t, []string{"1", "2", "3", "4"}, tail(10), "between a rotation and the first line after it")
	appendTo(t, path, "5\r\nlogin: ")
	require.Equal(t, []string{"1", "2", "3", "4", "5", "login:"}, tail(10))
	require.Equal(t, []string{"4", "5", "login:"}, tail(3))
	require.Empty(t, tail(0))
	require.Equal(t, "login:", lastLine(context.Background(), path))
}

func TestConsoleTailIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), consoleFile)
	appendTo(t, path, strings.Repeat(strings.Repeat("x", 1023)+"\n", 3<<10))
	appendTo(t, path+".0", "older\n")
	lines, err := consoleTail(context.Background(), path, maxLogLines)
	require.NoError(t, err)
	require.LessOrEqual(t, len(strings.Join(lines, "\n")), maxLogBytes)
	require.NotContains(t, lines, "older")

	appendTo(t, path, strings.Repeat("ü", 300)+"\n \n")
	require.Equal(t, strings.Repeat("ü", lineLength)+"…", lastLine(context.Background(), path), fmt.Sprint(lineLength))
}
