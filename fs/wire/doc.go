// Package wire speaks the kernel's FUSE protocol, version 7, to which linux/fuse.h is the reference: it
// decodes requests to the operations of github.com/jacobsa/fuse/fuseops, and encodes what these hold when they
// have been served.
//
//	protocol.go  numbers and sizes of messages
//	decode.go    requests, which are not trusted to be well-formed
//	encode.go    replies
//	ops.go       operations that fuseops has no type for
//	init.go      FUSE_INIT, in which both sides agree on what they can do
//	device.go    requests and replies by read(2) and write(2) on /dev/fuse
//	uring.go     requests and replies through rings in memory (FUSE over io_uring, Linux 6.14): the threads
//	entry.go     a thread's place for a request; ring.go is io_uring itself
//	notify.go    messages that answer no request
package wire
