// Package disk reads, makes, copies, grows and removes the disks of virtual machines on a host.
//
// A disk image is hostile until inspected: the header of a qcow2 file can name other files of the host, and QEMU's tools
// follow it. So Inspect reads headers itself, and nothing here runs qemu-img on a file that was not inspected first.
// Every path is absolute. Failures that reach a user are *contract.Error; a cancelled context comes back as its error.
package disk
