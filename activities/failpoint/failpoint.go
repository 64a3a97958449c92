// Package failpoint stops or kills the process at named places, so that tests can prove what a crash there leaves
// behind. In a normal build it does nothing; the build tag "failpoints" turns it on.
//
// With BERTH_FAILPOINTS_DIR set, each place that is passed leaves the files "seen/<name>" and "seen/<name>@<scope>", where
// the scope is on whose behalf it was passed: a workload, an image or a host. A file "<name>@<scope>.arm" or "<name>.arm"
// there arms the place once: it is renamed, .arm to .hit, and the process waits until that file is gone. If the file's
// content was "kill", the process kills itself instead.
package failpoint
