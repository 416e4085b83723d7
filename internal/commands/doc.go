// Package commands learns which commands a guest runs, and tells art-fuse, so that this knows whose a change is.
//
//	learner.go   the calls by which commands begin and end, and map files to write to them
//	executes.go  a process that executes something
//	program.go   the file that it executes
//	doubt.go     what becomes of one of which it cannot be seen before whether it can execute that
//	memory.go    what a process passes to execve, read from its memory
//	ids.go       the ids of processes, as the kernel knows them
//	lineage.go   which command a process belongs to that has executed none itself
//	known.go     the processes that are known, and for how long
//	ends.go      the ends of processes that make no call to end
//	sender.go    the ring from which art-fuse takes what it is told, and the socket over which it asks
//
// A call waits until art-fuse can know of it: what is in the ring when a request of the kernel comes is all that came before it. Nothing
// here decides anything: what a guest writes over while it is read makes the log wrong about that guest, and nothing else.
//
// Between two calls a program has had the processor's caches for itself, so that what is done here takes several times as long as in a
// row: what counts is how little of the kernel and of Go's runtime is passed through, /proc above all.
//
// The call by which a process ends is asked about, although a descriptor tells of its end too. To be woken by each descriptor takes longer
// than to be asked: of a loop of git's a fifth of its time. And by then what the process leaves behind has another parent, so that nobody
// knows any more which command it is of.
//
// No lock is held while something of the guest's is looked at, be it a path or memory that is a file's: both can make art-fuse
// do something, which in turn asks here whose a thread is, and does not wait long for the answer.
package commands
