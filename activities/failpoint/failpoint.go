// Package failpoint stops or kills the process at named places, so that tests can prove what a crash there leaves
// behind. In a normal build it does nothing; the build tag "failpoints" turns it on.
//
// With BERTH_FAILPOINTS_DIR set, each place that is passed leaves a file "seen/<name>". A file "<name>.arm" there arms the
// place once: it is renamed to "<name>.hit", and the process waits until that file is gone. If the file's content was
// "kill", the process kills itself instead.
package failpoint
