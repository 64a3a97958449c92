// Package faults proves what a crash leaves behind: at each failpoint of each verb of each kind of workload, the agent or
// the control worker is killed, or Temporal is killed and started again with its database. Afterwards the workload must
// be as it was wanted, with one container or domain that was started no more often than needed.
//
// Every case arms one failpoint for a workload of its own. Many cases are held at their failpoints at the same time, and
// one fault hits them all. By default each failpoint meets one of the faults, with short timings; with BERTH_FAULTS=full
// every failpoint of every verb meets each fault, with the timings of production.
package faults
