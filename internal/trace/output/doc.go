// Package output writes down what a tracer sees.
//
// Text is the format of `strace -f -o FILE`, which people and tools can read.
// JSON is one object a line; its members are those of Record. Summary is the
// table of `strace -c`.
//
// What ends the tracer, be it SIGKILL, leaves what it saw in the log: Text writes
// the beginning of a line before the kernel runs the call, and everything else is
// written as soon as it is known, each time with one write(2). JSON writes a call
// when it returns, so that a thread's last call may be missing when the tracer is
// killed.
//
// # Differences from strace
//
// Programs that were traced by strace 6.1 and by this package on the same machine
// yield the same lines, thread by thread (the test that compares them is in
// cmd/art-trace, and one that makes every call in trace/decode), but for these:
//
//	what                        strace                art-trace           why
//	32-bit and x32 calls        decoded               i386:syscall_0x5    numbers and sizes mean something else;
//	                                                  and six registers   recognised and not misread, but not decoded
//	flags of bpf and kexec      names                 numbers             rare calls, whose flags say little
//	                                                                      without the kernel's source at hand
//	structs of bpf, keyctl,     members               addresses           rare calls: decode's tests name all, and
//	  perf_event_open, aio,                                               compare the others where memory is
//	  quotas, handles                                                     readable, and where it is not
//	indices of interfaces       if_nametoindex("lo")  1                   the command may be in another network
//	                                                                      namespace than the tracer
//	attributes in netlink       members               "…" or ...          headers and families are decoded
//	names newer than strace     0x8                   PIDFD_THREAD        the tables are newer
//	calls newer than strace     syscall_0x1d3         file_getattr        the table is newer
//	permissions of msgget and   0x7000002             0x7000|002          a | is missing in strace where the flags have
//	  semget                                                              no name
//	mremap's new address        with MREMAP_FIXED     with                the kernel reads it with both
//	                                                  DONTUNMAP too
//	clone that is interrupted,  resumed>,             resumed>            the comma stands before "<unfinished",
//	  when it is resumed        child_tidptr=0x…      child_tidptr=0x…    as in all other calls
//	ioctl requests of drivers   names                 _IOC(…)             there are thousands; those of terminals, files,
//	                                                                      and block devices have names and arguments
//	"Process N attached"        on standard error     nothing             standard error is the command's
//	times of -c                 system time           from entry to exit  system time is known per process, not
//	                                                  (strace's -w)       per call
//	result of what --deny       (INJECTED)            (INJECTED)          the same mark
//	  refuses
//
// What differs from run to run of the same program under the same tracer is no
// difference: addresses, ids, times, random bytes, where the heap starts (brk), and
// when a child's SIGCHLD arrives. For some of the programs that is more:
//
//	program             compared                      left out, because it is up to
//	ls -lR, find, tar,  every line                    nothing
//	  cp, sh, cat
//	pipeline of sh      every line                    nothing
//	git status          all but getrandom; of read    names of temporary files; the times that
//	                    and write not the data        the index holds, and what is made of them
//	python3 -c          every line                    nothing
//	crash (SIGSEGV)     every line                    nothing
//	64 threads          all but futex, mmap, munmap,  the scheduler: who waits for whom, whose
//	                    mprotect, madvise, mremap,    memory grows, and who gets to its end
//	                    and a thread's end            before the process does
//	1,000 children      all but wait4, rt_sigsuspend  the scheduler: which child ends first
//	                    and rt_sigprocmask            and how many are found ended at once
//	go build            %file, %network, getdents64,  the Go runtime, which moves goroutines
//	                    fstat, ftruncate, pipe2,      between threads: process by process
//	                    dup3, flock; sorted           instead of thread by thread
//	SIGSTOP, SIGCONT    all but wait4, rt_sigsuspend  the scheduler: whether the process is
//	                    and rt_sigprocmask            stopped first or woken first
//
// On arm64 munmap is left out too: what the dynamic linker unmaps around a library
// depends on where the kernel has put it.
package output
