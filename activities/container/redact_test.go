package container

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestRedact(t *testing.T) {
	spec := &v1.ContainerSpec{Env: map[string]string{"A": "topsecret", "B": "topsecret-longer", "PORT": "8080"}}
	require.Equal(t, "login *** and *** at 8080", redact("login topsecret and topsecret-longer at 8080", spec))
	require.Equal(t, "as it is", redact("as it is", nil))

	err := redactError(contract.Permanent(v1.ReasonInvalid, "a", "bad topsecret").WithCause(errors.New("because of topsecret-longer")), spec)
	require.NotContains(t, err.Error(), "secret")
	require.Equal(t, v1.ReasonInvalid, contract.ReasonOf(err))
	taken := contract.Retryable(v1.ReasonRuntimeError, "", "m").WithCause(ErrNameTaken)
	require.ErrorIs(t, redactError(taken, spec), ErrNameTaken)
	require.NoError(t, redactError(nil, spec))
}

func FuzzBounded(f *testing.F) {
	f.Add("a\nb\x00c", 1)
	f.Add(strings.Repeat("ü", 300), 3)
	f.Fuzz(func(t *testing.T, text string, _ int) {
		out := bounded(text)
		require.LessOrEqual(t, len(out), lineMax)
		require.True(t, utf8.ValidString(out))
		require.NotContains(t, out, "\n")
	})
}
