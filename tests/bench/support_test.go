//go:build bench

package bench_test

import (
	"bufio"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// requests sums what the frontend of Temporal was asked so far, polls left out: those are made whether or not there is work.
func (b *bench) requests() float64 {
	b.t.Helper()
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
		if !strings.HasPrefix(line, "service_requests{") || !strings.Contains(line, `service_name="frontend"`) ||
			strings.Contains(line, `operation="Poll`) || strings.Contains(line, `operation="DescribeWorkflowExecution"`) {
			continue
		}
		_, value, _ := strings.Cut(line, "} ")
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		require.NoError(b.t, err)
		sum += n
	}
	require.NoError(b.t, lines.Err())
	require.NotZero(b.t, sum, "Temporal's metrics have changed their names")
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
