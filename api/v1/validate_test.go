package v1

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFixturesAreValid(t *testing.T) {
	for name, w := range fixtures() {
		t.Run(name, func(t *testing.T) {
			before := w.Clone()
			require.NoError(t, w.Validate())
			require.Equal(t, before, w, "validation changes nothing")
			w.Default()
			require.NoError(t, w.Validate())
		})
	}
}

// invalid is one mistake, made in a valid workload, and what must be told: nothing else may be.
type invalid struct {
	name string
	make func(w *Workload)
	want string
}

func runInvalid(t *testing.T, base func() *Workload, cases []invalid) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := base()
			c.make(w)
			texts := fieldErrors(t, w.Validate())
			require.Len(t, texts, 1, "%q", texts)
			require.Contains(t, texts[0], c.want)
			w.Default()
			require.Equal(t, texts, fieldErrors(t, w.Validate()), "defaults change no verdict")
		})
	}
}

func TestValidateHead(t *testing.T) {
	runInvalid(t, minimalContainer, []invalid{
		{"version", func(w *Workload) { w.APIVersion = "v1" }, "apiVersion: must be berth/v1"},
		{"no kind", func(w *Workload) { w.Kind = "" }, "kind: is required"},
		{"unknown kind", func(w *Workload) { w.Kind = "container" }, "kind: must be Container or VM"},
		{"compose", func(w *Workload) { w.Kind, w.Container = KindCompose, nil }, "kind: Compose is not supported yet"},
		{"no spec", func(w *Workload) { w.Container = nil }, "spec: is required"},
		{"other spec", func(w *Workload) { w.Kind = KindVM }, "spec: belongs to another kind"},
		{"two specs", func(w *Workload) { w.VM = new(VMSpec) }, "spec: belongs to another kind"},
		{"no name", func(w *Workload) { w.Metadata.Name = "" }, "metadata.name: is required"},
		{"long name", func(w *Workload) { w.Metadata.Name = strings.Repeat("a", 64) }, "metadata.name: must be 1 to 63"},
		{"name with slash", func(w *Workload) { w.Metadata.Name = "a/b" }, "metadata.name: must be"},
		{"name with newline", func(w *Workload) { w.Metadata.Name = "a\n" }, "metadata.name: must be"},
		{"label key", func(w *Workload) { w.Metadata.Labels = map[string]string{"a=b": ""} }, "metadata.labels: the key \"a=b\""},
		{"empty label key", func(w *Workload) { w.Metadata.Labels = map[string]string{"": "x"} }, "metadata.labels: the key \"\""},
		{"label value", func(w *Workload) { w.Metadata.Labels = map[string]string{"a": "x,y"} }, "metadata.labels.a: the value"},
		{"quote in label", func(w *Workload) { w.Metadata.Labels = map[string]string{"a": "x'y"} }, "metadata.labels.a: the value"},
		{"own label", func(w *Workload) { w.Metadata.Labels = map[string]string{"berth.host": "x"} }, `metadata.labels["berth.host"]: the prefix`},
		{"many labels", func(w *Workload) { w.Metadata.Labels = numbered(33, "") }, "metadata.labels: at most 32"},
		{"large labels", func(w *Workload) { w.Metadata.Labels = numbered(20, strings.Repeat("x", 63)) }, "metadata.labels: all keys and values"},
	})
	require.Error(t, (*Workload)(nil).Validate())
}

func TestValidateCommon(t *testing.T) {
	job := func(w *Workload) *Common { w.Spec().Type = TypeJob; return w.Spec() }
	runInvalid(t, minimalContainer, []invalid{
		{"type", func(w *Workload) { w.Spec().Type = "jobs" }, "spec.type: must be one of service, job: did you mean job?"},
		{"job of a service", func(w *Workload) { w.Spec().Job = new(JobPolicy) }, "spec.job: only a workload of type job"},
		{"restart of a job", func(w *Workload) { job(w).Restart = &RestartPolicy{Policy: RestartAlways} }, "spec.restart.policy: must be no for a job"},
		{"attempts", func(w *Workload) { job(w).Job = &JobPolicy{MaxAttempts: -1} }, "spec.job.maxAttempts: must be from 1 to 100"},
		{"deadline", func(w *Workload) { job(w).Job = &JobPolicy{Deadline: -5} }, "spec.job.deadline: must be from 1s"},
		{"policy", func(w *Workload) { w.Spec().Restart = &RestartPolicy{Policy: "never"} }, "spec.restart.policy: must be one of"},
		{
			"retries of always", func(w *Workload) { w.Spec().Restart = &RestartPolicy{Policy: RestartAlways, MaxRetries: 1} },
			"spec.restart.maxRetries: only with policy on-failure",
		},
		{
			"retries", func(w *Workload) { w.Spec().Restart = &RestartPolicy{Policy: RestartOnFailure, MaxRetries: -1} },
			"spec.restart.maxRetries: must be from 0",
		},
		{"grace", func(w *Workload) { w.Spec().StopGracePeriod = -1 }, "spec.stopGracePeriod: must be from 0s to 1h0m0s"},
		{"long grace", func(w *Workload) { w.Spec().StopGracePeriod = Duration(2 * time.Hour) }, "spec.stopGracePeriod"},
	})
}

func TestValidateTellsAllAtOnceSorted(t *testing.T) {
	w := minimalVM()
	w.Metadata.Name = "-"
	w.VM.VCPUs, w.VM.Memory = 0, 0
	w.VM.Firmware = "efi"
	w.VM.Disks = append(w.VM.Disks, Disk{Name: "root"})
	err := fmt.Errorf("apply: %w", w.Validate())
	texts := fieldErrors(t, err)
	require.Len(t, texts, 6, "%q", texts)
	var fields FieldErrors
	require.ErrorAs(t, err, &fields)
	require.True(t, slices.IsSortedFunc(fields, func(a, b FieldError) int { return strings.Compare(string(a.Path), string(b.Path)) }))
	require.Contains(t, err.Error(), "; ")

	var first FieldError
	require.ErrorAs(t, err, &first)
	require.Equal(t, FieldError{Path: "metadata.name", Reason: ReasonInvalid, Message: first.Message}, first)
	require.ErrorIs(t, err, first)
	require.NotErrorIs(t, err, errors.ErrUnsupported)
}

func TestValidateSize(t *testing.T) {
	w := minimalContainer()
	// Each part is within its own limit, but JSON takes six bytes for each of these.
	w.Container.Env = map[string]string{"A": strings.Repeat("<", 40<<10)}
	texts := fieldErrors(t, w.Validate())
	require.Len(t, texts, 1)
	require.Contains(t, texts[0], "the limit is 131072")
}

func TestValidateName(t *testing.T) {
	for _, name := range []string{"a", "web", "a-1", "0", strings.Repeat("a", 63)} {
		require.NoError(t, ValidateName(name), name)
	}
	for _, name := range []string{"", "-a", "a-", "A", "a_b", "a.b", "ä", "a b", "a\x00", "../a", strings.Repeat("a", 64)} {
		require.Error(t, ValidateName(name), name)
	}
}

func FuzzName(f *testing.F) {
	for _, seed := range []string{"web", "a-b", "-", "Ä", "a/b", "a\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if ValidateName(name) != nil {
			return
		}
		require.LessOrEqual(t, len(name), MaxNameLength)
		require.Regexp(t, `\A[a-z0-9]([a-z0-9-]*[a-z0-9])?\z`, name)
	})
}

func numbered(count int, value string) map[string]string {
	m := map[string]string{}
	for i := range count {
		m[fmt.Sprintf("key%d", i)] = value
	}
	return m
}
