// Package load measures a fleet of synthetic hosts under many workloads: how many are applied, stopped and removed a second,
// how long a caller waits, and what each part of Berth takes of the machine. It runs by `make load` only. The quick mode has
// 50 hosts and 500 workloads, BERTH_LOAD=full has 200 and 5,000; BERTH_LOAD_HOSTS and BERTH_LOAD_WORKLOADS set other numbers.
//
// Figures are reported, and differ from machine to machine. What fails the test is a workload that failed or got lost, and a
// ledger that is not empty in the end.
package load
