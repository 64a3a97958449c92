// Package e2e tests whole fleets from outside, as users meet them: the real binary as server and agent, real Temporal,
// Docker and libvirt. Tests of one file share a fleet, and run beside each other on it.
package e2e
