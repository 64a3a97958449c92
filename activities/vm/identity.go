package vm

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// identity derives what a host's domains are called. All of it follows from the names alone, so that a redeploy, or a
// retry after a crash, finds the same domain, and the guest the same hardware addresses.
type identity struct{ fleet, host string }

// domain is the name of a workload's domain.
func (i identity) domain(workload string) string { return i.prefix() + workload }

func (i identity) prefix() string { return "berth." + i.fleet + "." + i.host + "." }

// workload is the inverse of domain. It reports false for the name of anything else: names of workloads have no dot.
func (i identity) workload(domain string) (string, bool) {
	name, ok := strings.CutPrefix(domain, i.prefix())
	return name, ok && name != "" && !strings.Contains(name, ".")
}

// uuid is the domain's UUID, which the guest sees as its machine's.
func (i identity) uuid(workload string) string {
	return uuid.NewHash(sha256.New(), uuid.Nil, []byte(i.domain(workload)), 8).String()
}

// mac is the hardware address of the workload's network card at an index, in QEMU's range.
func (i identity) mac(workload string, index int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s/%d", i.fleet, i.host, workload, index))
	return fmt.Sprintf("52:54:00:%02x:%02x:%02x", sum[0], sum[1], sum[2])
}
