package v1

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	known := []string{"host", "hostIP", "container", "protocol", "env", "args"}
	for key, want := range map[string]string{
		"Host": "host", "hsot": "host", "hostip": "hostIP", "hostPort": "host", "containerPort": "container", "prot": "protocol",
		"enf": "env", "environment": "env", "arg": "args", "xyz": "", "x": "", "": "", "image": "",
	} {
		require.Equal(t, want, nearest(key, known), key)
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"host", "hsot", 2}, {"same", "same", 0}} {
		require.Equal(t, c.want, editDistance(c.a, c.b))
		require.Equal(t, c.want, editDistance(c.b, c.a))
	}
}
