package deadline

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const guardName = "guard.json"

// guardSilence is how long a guard may show no sign of life until it counts as gone.
const guardSilence = 10 * time.Second

type guardBeat struct {
	BootID string        `json:"bootId"`
	At     time.Duration `json:"at"`
}

// Beat is the guard's sign of life. A lock alone would not tell a guard that is frozen.
func (d Dir) Beat() error { return d.write(guardName, guardBeat{BootID(), Now()}) }

// Guarded reports whether a guard has shown a sign of life lately.
func (d Dir) Guarded() bool {
	var b guardBeat
	if err := d.read(guardName, &b); err != nil {
		return false
	}
	return b.BootID == BootID() && Now()-b.At < guardSilence
}

// The processes that a host's directory belongs to.
const (
	Agent = "agent"
	Guard = "guard"
)

// Hold makes the directory and takes a role in it, as long as the process lives or until release. It fails if another process
// has that role.
func (d Dir) Hold(role string) (release func() error, err error) {
	if err := d.Make(); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(d.path(role+".lock"), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the directory of the deadline: %w", err)
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("another %s of this host runs: stop it first", role)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", d, err), lock.Close())
	}
	return lock.Close, nil
}
