package backend

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
)

func TestPageTokens(t *testing.T) {
	require.Empty(t, pageToken("q", nil), "no next page")
	next, err := openPageToken("q", "")
	require.NoError(t, err)
	require.Empty(t, next)

	token := pageToken("q", []byte(`{"at":1}`))
	next, err = openPageToken("q", token)
	require.NoError(t, err)
	require.JSONEq(t, `{"at":1}`, string(next))

	for name, test := range map[string]struct{ query, token string }{
		"made up":          {"q", "abc"},
		"no base64":        {"q", "%%%"},
		"shorter than sum": {"q", "AAAA"},
		"cut":              {"q", token[:len(token)-4]},
		"another query":    {"other", token},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openPageToken(test.query, test.token)
			var fields v1.FieldErrors
			require.ErrorAs(t, err, &fields)
			require.Equal(t, v1.Path("pageToken"), fields[0].Path)
		})
	}
}
