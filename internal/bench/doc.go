// Command bench measures what an agent does all day on five file systems: the host's own (ext4), the
// kernel's overlayfs on it, fuse-overlayfs on it, and a session of art whose database lies on it, with its requests over
// io_uring and over /dev/fuse. Single operations are measured beside libfuse's.
//
//	workload.go, workloads.go   what is measured
//	fixture.go, fixtures/       the trees that the workloads start from, made once and kept
//	system.go, art.go           how each system shows such a tree to a worker; replicated.go copies the database meanwhile
//	worker.go                   the process inside that runs commands and takes the time
//	operation.go, wire.go       single operations with caches off, and the ways on which requests go
//	start.go                    sessions that do nothing
//	run.go                      the order of things
//	result.go                   what was found, in the format that benchstat reads; svg.go draws it
//
// Every repetition of a workload starts on every system, in turn and in rotating order, with a tree
// as it was made: what one system leaves behind, and what else the machine does meanwhile, falls on
// all of them alike; those that only set art in relation take part in every other. All workloads are measured once before one is measured
// again. Some are a sequence of steps, of which each works on what the one before has left. The time of a step is taken inside, where an
// agent would wait for it; the time to disk goes on until all that was written is on it, which for art includes the end of the session;
// only the last step of a session has one.
package main
