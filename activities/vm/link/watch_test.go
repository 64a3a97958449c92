package link

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ip changes an interface; its name tells it from everybody else's.
func ip(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "ip", args...).CombinedOutput()
	require.NoErrorf(t, err, "%s", out)
}

func TestWatchTellsOfAnInterfaceThatLosesItsBridge(t *testing.T) {
	id := fmt.Sprintf("%x", os.Getpid())
	card, bridge := "btc"+id, "btb"+id
	ip(t, "link", "add", bridge, "type", "bridge")
	t.Cleanup(func() { ip(t, "link", "del", bridge) })
	ip(t, "tuntap", "add", "dev", card, "mode", "tap")
	t.Cleanup(func() { ip(t, "link", "del", card) })
	ip(t, "link", "set", card, "master", bridge)
	require.False(t, CutOff(card))
	require.False(t, CutOff("no-such-card"))

	ctx, cancel := context.WithCancel(t.Context())
	changed, over := make(chan struct{}, 64), make(chan error, 1)
	go func() { over <- Watch(ctx, card, func() { changed <- struct{}{} }) }()
	require.Eventually(t, func() bool { // it may not listen yet
		ip(t, "link", "set", card, "nomaster")
		ip(t, "link", "set", card, "master", bridge)
		return len(changed) > 0
	}, 2*time.Minute, 10*time.Millisecond)
	ip(t, "link", "set", card, "nomaster")
	require.True(t, CutOff(card))
	cancel()
	require.ErrorIs(t, <-over, context.Canceled)
	require.False(t, about([]byte("nonsense"), ""))
}
