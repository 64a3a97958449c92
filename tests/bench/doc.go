// Package bench measures what Berth adds to the bare runtimes. Its benchmark runs by `make bench` only: a timed test on a
// busy machine proves nothing, so it compares in turns, in one run, and reports medians and ratios.
package bench
