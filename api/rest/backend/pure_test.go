package backend

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDiff(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to string
		want     []string
	}{
		"same":           {`{"a":1}`, `{"a":1}`, nil},
		"value":          {`{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":3}}`, []string{"a.c"}},
		"added":          {`{"a":1}`, `{"a":1,"b":{"c":1}}`, []string{"b"}},
		"removed":        {`{"a":1,"b":null}`, `{"a":1}`, []string{"b"}},
		"element":        {`{"a":[{"p":1},{"p":2}]}`, `{"a":[{"p":1},{"p":3}]}`, []string{"a[1].p"}},
		"longer list":    {`{"a":[1]}`, `{"a":[1,2]}`, []string{"a"}},
		"other type":     {`{"a":[1]}`, `{"a":{"b":1}}`, []string{"a"}},
		"several sorted": {`{"b":1,"a":1}`, `{"b":2,"a":2}`, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var from, to any
			require.NoError(t, json.Unmarshal([]byte(tc.from), &from))
			require.NoError(t, json.Unmarshal([]byte(tc.to), &to))
			require.Equal(t, tc.want, diff("", from, to))
		})
	}
}

func TestQueriesCannotBeEscaped(t *testing.T) {
	q := openOf("Workload")
	q.equal("BerthHost", "")
	q.equal("BerthHost", "h-1")
	text, err := q.text()
	require.NoError(t, err)
	require.Equal(t, "WorkflowType = 'Workload' AND ExecutionStatus = 'Running' AND BerthHost = 'h-1'", text)
	for _, evil := range []string{"a' OR '1'='1", `a"`, "a`", `a\`, "a\x00", "a\nb"} {
		q := openOf("Workload")
		q.equal("BerthHost", evil)
		_, err := q.text()
		require.Error(t, err, evil)
	}
}
