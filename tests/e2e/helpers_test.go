package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

const (
	// soon bounds what takes a second on an idle machine, long what takes many. They are generous: a loaded machine is no
	// failure.
	soon = 3 * time.Minute
	long = 6 * time.Minute
)

// poll is how often conditions are looked at.
const poll = 100 * time.Millisecond

// hostName is the host of fleets with one agent.
const hostName = "h1"

// pace makes tests quick: the same durations as in production, scaled down, and entities that often continue as new.
var pace = []string{
	"--beat", "500ms", "--lease", "5s", "--backoff-min", "200ms", "--activity-heartbeat", "6s",
	"--continue-as-new-at", "50",
}

// fleet starts a server and an agent, and waits until the host is online.
func fleet(t *testing.T, agentArgs ...string) *harness.Fleet {
	t.Helper()
	f := harness.NewFleet(t)
	f.StartServer(pace...)
	f.StartAgent(hostName, append(pace, agentArgs...)...)
	f.AwaitHost(hostName, soon, v1.HostOnline)
	return f
}

// subtests run beside each other on one fleet.
type subtest struct {
	name string
	run  func(*testing.T, *harness.Fleet)
}

func runAll(t *testing.T, f *harness.Fleet, tests []subtest) {
	t.Helper()
	for _, s := range tests {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, f.In(t))
		})
	}
}

// container is a workload of the test image whose spec goes on with these YAML lines.
func container(t *testing.T, f *harness.Fleet, name string, lines ...string) *v1.Workload {
	t.Helper()
	text := "apiVersion: berth/v1\nkind: Container\nmetadata: {name: " + name + "}\nspec:\n  image: " +
		harness.ContainerImage(t) + "\n  pull: never\n"
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	return f.Parse(text)
}

// idle is a script's end that ends at once when the container is stopped.
const idle = "trap 'exit 0' TERM; sleep 1000 & wait"

// shell is the line of a spec that runs a script.
func shell(script string) string {
	return fmt.Sprintf("command: [/bin/sh, -c, %q]", script)
}

// containerName is what Docker calls a workload's container.
func containerName(f *harness.Fleet, workload string) string {
	return "berth." + f.ID + "." + hostName + "." + workload
}

// inspected is what tests look at in `docker inspect`.
type inspected struct {
	ID     string `json:"Id"`
	Config struct {
		Env    []string
		Labels map[string]string
	}
	State struct {
		Running   bool
		StartedAt string
	}
	NetworkSettings struct {
		Ports map[string][]struct{ HostPort string }
	}
}

// inspect returns the container of a workload, which must exist.
func inspect(t *testing.T, f *harness.Fleet, workload string) inspected {
	t.Helper()
	var all []inspected
	require.NoError(t, json.Unmarshal([]byte(docker(t, "container", "inspect", containerName(f, workload))), &all))
	require.Len(t, all, 1)
	return all[0]
}

// docker runs the CLI of Docker, and returns what it printed.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	// Also for cleaning up, when the test's context has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), soon)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	require.NoErrorf(t, err, "docker %s:\n%s", strings.Join(args, " "), out)
	return string(out)
}

// only returns those names that belong to a workload.
func only(t *testing.T, f *harness.Fleet, workload string, names []string) []string {
	t.Helper()
	var out []string
	for _, n := range names {
		if n == containerName(f, workload) || strings.HasPrefix(n, containerName(f, workload)+".") {
			out = append(out, n)
		}
	}
	return out
}

// containersOf returns the names of a workload's containers, running or not.
func containersOf(t *testing.T, f *harness.Fleet, workload string) []string {
	t.Helper()
	return only(t, f, workload, harness.Containers(t, f.ID))
}

// remove removes a workload and waits until it is gone.
func remove(t *testing.T, f *harness.Fleet, workload string) {
	t.Helper()
	f.Do(workload, v1.VerbRemove)
	f.AwaitGone(workload, soon)
}

// purge removes a workload with its volumes, and waits until it is gone.
func purge(t *testing.T, f *harness.Fleet, workload string) {
	t.Helper()
	a, err := f.Client().Do(t.Context(), workload, v1.VerbRemove, client.Change{Volumes: true})
	require.NoError(t, err)
	require.Empty(t, a.Kept)
	f.AwaitGone(workload, soon)
}

// settled is true once a status shows what an accepted request asked for, carried out.
func settled(a v1.Accepted) func(v1.View) bool {
	return func(v v1.View) bool { return v.Status.Seq >= a.Seq && v.Status.Settled }
}

// awaitSettled waits until what was asked for has been carried out.
func awaitSettled(f *harness.Fleet, a v1.Accepted) v1.View {
	return f.AwaitWorkload(a.Name, soon, "it is settled", settled(a))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// awaitEqual looks again for a while until the elements are those wanted, in any order, and reports whether they are.
func awaitEqual(t *testing.T, want []string, get func() []string) bool {
	t.Helper()
	deadline := time.Now().Add(soon)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		if slices.Equal(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(get()))) {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		<-tick.C
	}
}

// decode reads the JSON that a CLI printed, which may say something else first.
func decode(t *testing.T, out string, into any) {
	t.Helper()
	start := strings.IndexAny(out, "{[")
	require.GreaterOrEqual(t, start, 0, out)
	require.NoError(t, json.Unmarshal([]byte(out[start:]), into), out)
}

var base64Text = regexp.MustCompile(`"([A-Za-z0-9+/]{4,}={0,2})"`)

// plain is a text followed by all that stands in it in base64.
func plain(text string) string {
	var out strings.Builder
	out.WriteString(text)
	for _, m := range base64Text.FindAllStringSubmatch(text, -1) {
		if data, err := base64.StdEncoding.DecodeString(m[1]); err == nil {
			out.WriteByte('\n')
			out.Write(data)
		}
	}
	return out.String()
}

// removeAll removes a directory behind everybody's back.
func removeAll(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(dir))
}

// writeRecords lets a host remember workloads that nobody knows.
func writeRecords(t *testing.T, f *harness.Fleet, a *harness.Agent, n int) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("%s-w%04d", a.Host, i)
		dir := filepath.Join(a.DataDir, "workloads", name)
		require.NoError(t, os.MkdirAll(dir, 0o711))
		data, err := json.Marshal(record.Record{
			Fleet: f.ID, Host: a.Host, Workload: name, Kind: v1.KindContainer, Generation: 1, Fence: time.Now().UnixMilli(), Wanted: record.WantedStopped,
		})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "record.json"), data, 0o600))
	}
}
