package backend

import (
	"net/url"
	"strings"
)

// webLink is where Temporal's Web UI shows an execution; empty if no Web UI is known.
func (b *Backend) webLink(id, run string) string {
	if b.WebUI == "" {
		return ""
	}
	link := strings.TrimRight(b.WebUI, "/") + "/namespaces/" + url.PathEscape(b.Namespace) + "/workflows/" + url.PathEscape(id)
	if run != "" {
		link += "/" + url.PathEscape(run) + "/history"
	}
	return link
}

// links are those that are not empty, of pairs of names and addresses.
func links(pairs ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out[pairs[i]] = pairs[i+1]
		}
	}
	return out
}
