//go:build bench

package bench_test

import (
	"bufio"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// uncounted are requests that are made whether or not there is work, or by this benchmark itself.
var uncounted = []string{"Poll", "RecordActivityTaskHeartbeat", "DescribeWorkflowExecution", "GetWorkflowExecutionHistory", "GetSystemInfo"}

// requests is how many requests the frontend of Temporal was asked so far. The server writes its counters out from time to
// time, so it is asked until two answers in a row agree.
func (b *bench) requests() float64 {
	b.t.Helper()
	last := -1.0
	require.Eventually(b.t, func() bool {
		now := b.readRequests()
		settled := now == last
		last = now
		return settled
	}, time.Minute, 2*time.Second)
	return last
}

func (b *bench) readRequests() float64 {
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.Temporal.Metrics, nil)
	require.NoError(b.t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(b.t, err)
	defer func() { _ = resp.Body.Close() }()
	var sum float64
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "service_requests{") || !strings.Contains(line, `service_name="frontend"`) {
			continue
		}
		if slices.ContainsFunc(uncounted, func(op string) bool { return strings.Contains(line, `operation="`+op) }) {
			continue
		}
		_, value, _ := strings.Cut(line, "} ")
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		require.NoError(b.t, err)
		sum += n
	}
	require.NoError(b.t, lines.Err())
	return sum
}

// bareXML makes another domain of Berth's own: another name, and one disk on the same image.
func bareXML(template, fleet, name, disk, base string) string {
	replace := func(pattern, with string) {
		template = regexp.MustCompile(pattern).ReplaceAllString(template, with)
	}
	replace(`<name>[^<]*</name>`, "<name>"+name+"</name>")
	replace(`<uuid>[^<]*</uuid>`, "")
	replace(`(<source file=')[^']*berth[^']*/workloads/[^']*\.qcow2'`, "${1}"+disk+"'")
	replace(`(<source file=')[^']*/images/[^']*'`, "${1}"+base+"'")
	replace(`(<log file=')[^']*'`, "${1}"+disk+".log'")
	return template
}
