package docker

import "strings"

// pullMessage is one line of what Docker says during a pull.
type pullMessage struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Progress struct {
		Current int64 `json:"current"`
		Total   int64 `json:"total"`
	} `json:"progressDetail"`
	Error  string `json:"error"`
	Detail struct {
		Message string `json:"message"`
	} `json:"errorDetail"`
}

func (m pullMessage) failure() string {
	if m.Detail.Message != "" {
		return m.Detail.Message
	}
	return m.Error
}

// layers adds up what is known of an image's layers, by id.
type layers map[string]layer

type layer struct {
	status      string
	at          int64 // of what the status names: bytes downloaded, then bytes unpacked
	done, total int64 // of the download
}

// take notes a message and reports whether it is a sign that the pull moves. That Docker waits to try a layer again is none.
func (l layers) take(m pullMessage) bool {
	if strings.HasPrefix(m.Status, "Retrying") || strings.HasPrefix(m.Status, "Waiting") {
		return false
	}
	was := l[m.ID]
	now := was
	now.status, now.at = m.Status, max(0, m.Progress.Current)
	switch m.Status {
	case "Downloading":
		now.total = max(now.total, m.Progress.Total, 0)
		now.done = min(now.at, now.total)
	case "Download complete", "Verifying Checksum", "Extracting", "Pull complete":
		now.done = now.total
	}
	l[m.ID] = now
	return now != was
}

// sum is the bytes of all layers that are known so far.
func (l layers) sum() (done, total int64) {
	for _, one := range l {
		done += one.done
		total += one.total
	}
	return done, total
}
