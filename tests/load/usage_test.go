//go:build load

package load_test

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// ticksPerSecond is the unit of CPU times in /proc on Linux, whatever the kernel's own.
const ticksPerSecond = 100

// part is a process of the fleet.
type part struct {
	name string
	pid  int
}

// usage is what a part has taken of the machine so far.
type usage struct {
	cpu    time.Duration
	memory int64
}

func (l *load) usage() []usage {
	l.t.Helper()
	all := make([]usage, len(l.parts))
	for i, p := range l.parts {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
		require.NoError(l.t, err)
		// The fields after the program's name, which is in parentheses: user and system time are the 12th and 13th of them.
		fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
		all[i].cpu = time.Duration(l.number(fields[11])+l.number(fields[12])) * time.Second / ticksPerSecond
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
		require.NoError(l.t, err)
		rss := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
		require.NotNil(l.t, rss)
		all[i].memory = l.number(string(rss[1])) << 10
	}
	return all
}

// reportUsage says what the parts took: of a core over the time that passed, and of CPU time for each of count units. The
// latter is the same on a machine that is busy with other things.
func (l *load) reportUsage(before []usage, elapsed time.Duration, count int) {
	l.t.Helper()
	var texts []string
	for i, u := range l.usage() {
		cpu := u.cpu - before[i].cpu
		texts = append(texts, fmt.Sprintf("%s %.1f%% of a core, %.1f ms each, %d MiB", l.parts[i].name,
			100*cpu.Seconds()/elapsed.Seconds(), 1000*cpu.Seconds()/float64(count), u.memory>>20))
	}
	l.t.Logf("    %s", strings.Join(texts, "; "))
}

// idle reports what a fleet costs that has nothing to do.
func (l *load) idle() {
	l.t.Helper()
	l.pass(contract.DefaultTimings().Lease) // what a fleet does when it starts is over
	before, requests, begin := l.usage(), l.requests(), time.Now()
	l.pass(idleFor)
	after, elapsed := l.requests(), time.Since(begin)
	l.t.Logf("idle, %d hosts, a beat every %v: %.1f requests a second", l.hosts, contract.DefaultTimings().Beat,
		(sum(after)-sum(requests))/elapsed.Seconds())
	l.reportUsage(before, elapsed, int(elapsed.Seconds()))
	l.reportRequests(requests, int(elapsed.Seconds()))
}

// pass lets time go by.
func (l *load) pass(d time.Duration) {
	select {
	case <-time.After(d):
	case <-l.t.Context().Done():
	}
}

// requests is how many requests the frontend of Temporal was asked so far, by operation.
func (l *load) requests() map[string]float64 {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, l.Temporal.Metrics, nil)
	require.NoError(l.t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(l.t, err)
	defer func() { _ = resp.Body.Close() }()
	operation := regexp.MustCompile(`operation="(\w+)"`)
	all := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "service_requests{") || !strings.Contains(line, `service_name="frontend"`) {
			continue
		}
		_, value, _ := strings.Cut(line, "} ")
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		require.NoError(l.t, err)
		if m := operation.FindStringSubmatch(line); m != nil {
			all[m[1]] += n
		}
	}
	require.NoError(l.t, lines.Err())
	return all
}

// reportRequests says how many requests each of count units took, the most frequent first.
func (l *load) reportRequests(before map[string]float64, count int) {
	l.t.Helper()
	after := l.requests()
	for op := range after {
		after[op] -= before[op]
	}
	ops := slices.SortedFunc(maps.Keys(after), func(a, b string) int { return cmp.Compare(after[b], after[a]) })
	var texts []string
	for _, op := range ops[:min(12, len(ops))] {
		texts = append(texts, fmt.Sprintf("%s %.1f", op, after[op]/float64(count)))
	}
	l.t.Logf("    requests to Temporal for each: %.1f (%s)", sum(after)/float64(count), strings.Join(texts, ", "))
}

// events reports the length of the histories that a deploy leaves, on average over some.
func (l *load) events(names []string) {
	l.t.Helper()
	const sample = 20
	count := func(id string) (n int) {
		it := l.temporal.GetWorkflowHistory(l.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for it.HasNext() {
			_, err := it.Next()
			require.NoError(l.t, err)
			n++
		}
		return n
	}
	entity, action, looked := 0, 0, 0
	c := l.Client()
	for i := 0; i < len(names); i += max(1, len(names)/sample) {
		view, err := c.Get(l.t.Context(), names[i])
		require.NoError(l.t, err)
		entity += count(contract.WorkloadID(names[i]))
		action += count(contract.ActionID(names[i], v1.VerbDeploy, view.Status.Fence))
		looked++
	}
	l.t.Logf("    history events of a deploy: %.1f of the workload, %.1f of the action", float64(entity)/float64(looked), float64(action)/float64(looked))
}

func (l *load) number(text string) int64 {
	l.t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(l.t, err)
	return n
}

func sum(of map[string]float64) (total float64) {
	for _, v := range of {
		total += v
	}
	return total
}
