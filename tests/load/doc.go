// Package load measures a fleet of synthetic hosts under many workloads: how many are applied, stopped and removed a second,
// how long a caller waits, and what each part of Berth takes of the machine. It runs by `make load` only. The quick mode has
// 50 hosts and 500 workloads, BERTH_LOAD=full has 200 and 5,000; BERTH_LOAD_HOSTS and BERTH_LOAD_WORKLOADS set other numbers.
//
// Another test measures a real host: whether its agent's beats, and the stop of another workload, are held up by fetches, copies
// and boots. BERTH_LOAD does not change it.
//
// Figures are reported, and differ from machine to machine. What fails a test is a workload that failed or got lost, a
// ledger that is not empty in the end, and beats or stops that are held up.
package load
