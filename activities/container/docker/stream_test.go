package docker

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/events"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/container"
)

func TestPullProgress(t *testing.T) {
	l := layers{}
	for _, step := range []struct {
		line        string
		moves       bool
		done, total int64
	}{
		{`{"status":"Pulling from a","id":"latest"}`, true, 0, 0},
		{`{"status":"Pulling fs layer","id":"x"}`, true, 0, 0},
		{`{"status":"Already exists","id":"w"}`, true, 0, 0},
		{`{"status":"Waiting","id":"y"}`, false, 0, 0},
		{`{"status":"Downloading","id":"x","progressDetail":{"current":10,"total":100}}`, true, 10, 100},
		{`{"status":"Downloading","id":"x","progressDetail":{"current":10,"total":100}}`, false, 10, 100},
		{`{"status":"Downloading","id":"y","progressDetail":{"current":5,"total":50}}`, true, 15, 150},
		{`{"status":"Retrying in 5 seconds","id":"y"}`, false, 15, 150},
		{`{"status":"Retrying in 4 seconds","id":"y"}`, false, 15, 150},
		{`{"status":"Download complete","id":"y"}`, true, 60, 150},
		{`{"status":"Download complete","id":"x"}`, true, 150, 150},
		{`{"status":"Extracting","id":"x","progressDetail":{"current":1,"total":100}}`, true, 150, 150},
		{`{"status":"Extracting","id":"x","progressDetail":{"current":2,"total":100}}`, true, 150, 150},
		{`{"status":"Pull complete","id":"x"}`, true, 150, 150},
	} {
		var m pullMessage
		require.NoError(t, json.Unmarshal([]byte(step.line), &m))
		require.Equal(t, step.moves, l.take(m), step.line)
		done, total := l.sum()
		require.Equal(t, []int64{step.done, step.total}, []int64{done, total}, step.line)
	}
}

func TestPullFailure(t *testing.T) {
	for line, want := range map[string]string{
		`{"status":"x"}`: "", `{"error":"a"}`: "a", `{"error":"a","errorDetail":{"message":"b"}}`: "b",
	} {
		var m pullMessage
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		require.Equal(t, want, m.failure())
	}
}

func FuzzPullProgress(f *testing.F) {
	f.Add("Downloading", int64(1), int64(2), int64(-5), int64(9))
	f.Fuzz(func(t *testing.T, status string, c1, t1, c2, t2 int64) {
		l := layers{}
		for _, p := range [][2]int64{{c1, t1}, {c2, t2}} {
			m := pullMessage{ID: "x", Status: status}
			m.Progress.Current, m.Progress.Total = p[0], p[1]
			l.take(m)
			done, total := l.sum()
			require.GreaterOrEqual(t, done, int64(0))
			require.LessOrEqual(t, done, total)
		}
	})
}

func TestLastBytes(t *testing.T) {
	fill := func(limit int, parts ...string) *lastBytes {
		l := &lastBytes{limit: limit}
		for _, p := range parts {
			n, err := l.Write([]byte(p))
			require.NoError(t, err)
			require.Len(t, p, n)
		}
		return l
	}
	require.Nil(t, fill(100).lines(5))
	require.Equal(t, []string{"a", "b"}, fill(100, "a\r\n", "b\n").lines(5))
	require.Equal(t, []string{"b", "c"}, fill(100, "a\nb", "\nc").lines(2))
	require.Equal(t, []string{"3456789"}, fill(10, "0000\n1234\n", "3456789\n").lines(5), "a line without its beginning is left out")
	require.Equal(t, []string{"56789"}, fill(5, "0123456789").lines(5), "unless it is the only one")
	require.Equal(t, []string{"a\uFFFDb"}, fill(100, "a\xffb\n").lines(5))
	long := fill(1000, strings.Split(strings.Repeat("x\n", 100_000), "")...)
	require.LessOrEqual(t, len(long.data), 2000)
	require.Len(t, long.lines(10_000), 499)
}

func TestEventOf(t *testing.T) {
	own := map[string]string{container.LabelFleet: "f", container.LabelHost: "h"}
	attributes := func(more ...string) map[string]string {
		all := map[string]string{container.LabelFleet: "f", container.LabelHost: "h"}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	event := func(kind events.Type, action events.Action, attributes map[string]string) (container.Event, bool) {
		return eventOf(events.Message{Type: kind, Action: action, Actor: events.Actor{ID: "c", Attributes: attributes}}, own)
	}
	for signal, fatal := range map[string]bool{"15": true, "9": true, "1": false, "10": false, "": false, "TERM": false} {
		e, ok := event(events.ContainerEventType, events.ActionKill, attributes("signal", signal))
		require.True(t, ok)
		require.Equal(t, fatal, e.Killed, signal)
	}
	e, ok := event(events.ContainerEventType, events.ActionDie, attributes("signal", "9"))
	require.True(t, ok)
	require.False(t, e.Killed)
	_, ok = event(events.ContainerEventType, events.ActionDie, attributes(container.LabelHost, "h2"))
	require.False(t, ok, "another host's")
	_, ok = event(events.ContainerEventType, events.ActionDie, nil)
	require.False(t, ok, "nobody's")
	e, ok = event(events.NetworkEventType, events.ActionDisconnect, map[string]string{"container": "c1"})
	require.True(t, ok)
	require.True(t, e.Network)
	require.Equal(t, "c1", e.ID)
	_, ok = event(events.NetworkEventType, events.ActionDestroy, map[string]string{"name": "n"})
	require.False(t, ok)
}
