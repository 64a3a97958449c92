// Package harness runs real fleets for tests: a Temporal development server, berth servers and agents as processes that
// can be killed, images that boot, a file server that misbehaves; and it removes from the host what a test made there.
//
// Everything is bound to a test: it ends with the test, also when the test fails, and then its logs are shown.
package harness
