package seccomp

// allowed are the calls that every guest may make, whatever their arguments, of both
// architectures: what Docker gives a container without capabilities
// (profiles/seccomp/default.json of github.com/moby/moby), by and large. What stands
// neither here nor in rules.go is answered as by a kernel that has no such call, so that a
// call that is new to the kernel stays out until somebody has thought about it.
//
// Docker allows these as well, and a guest has no use for them:
//
//	fanotify_mark      without fanotify_init, which needs a capability
//	io_uring_*         an option here; Docker has left them out since
//	memfd_secret       memory that the kernel itself cannot reach, and never swaps out
//	modify_ldt         segments of 16- and 32-bit programs, which are killed here anyway;
//	                   CVE-2015-5157 and CVE-2017-17053 were in it
//	process_mrelease   for daemons that end programs when memory is short
const allowed = "" +
	// Files: open, read and write.
	`close close_range copy_file_range dup dup2 dup3 fadvise64 fallocate fcntl fdatasync flock
	fsync ftruncate lseek name_to_handle_at pread64 preadv preadv2 pwrite64 pwritev pwritev2
	read readahead readv sendfile splice sync sync_file_range syncfs tee truncate vmsplice
	write writev cachestat ` +

	// Files: names and directories. Modes given to mkdir lose the set-ID bits
	// (vfs_mkdir in fs/namei.c).
	`access chdir faccessat faccessat2 fchdir getcwd getdents getdents64 link linkat mkdir
	mkdirat readlink readlinkat rename renameat renameat2 rmdir symlink symlinkat umask
	unlink unlinkat ` +

	// Files: attributes. A change of owner, even to the same, takes the set-ID bits
	// away (chown(2)).
	`chown fchown fchownat fgetxattr flistxattr fremovexattr fstat fstatfs futimesat
	getxattr getxattrat lchown lgetxattr listmount listxattr listxattrat llistxattr
	lremovexattr lstat newfstatat removexattr removexattrat stat statfs statmount statx
	utime utimensat utimes ` +

	// Waiting for descriptors, and descriptors to wait for.
	`epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd
	eventfd2 inotify_add_watch inotify_init inotify_init1 inotify_rm_watch pipe pipe2 poll
	ppoll pselect6 select signalfd signalfd4 timerfd_create timerfd_gettime
	timerfd_settime ` +

	// Asynchronous input and output of the old kind: databases have it.
	`io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit ` +

	// Sockets, once they are made.
	`accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom
	recvmmsg recvmsg sendmmsg sendmsg sendto shutdown ` +

	// Memory. The calls for NUMA nodes are left out (mbind, move_pages, ...): they move
	// other processes' pages, and libnuma does without them.
	`brk madvise map_shadow_stack membarrier mincore mlock mlock2 mlockall
	mprotect mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free
	pkey_mprotect remap_file_pages ` +

	// System V's and POSIX's objects, of the guest's own IPC namespace.
	`mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl
	msgrcv msgsnd semctl semget semop semtimedop shmat shmctl shmdt ` +

	// Processes and threads. uretprobe and uprobe are the kernel's own, put into a
	// program that somebody on the host observes; nobody else may make them.
	`arch_prctl execve execveat exit exit_group fork get_robust_list getpgid getpgrp getpid
	getppid getsid gettid kill pidfd_open pidfd_send_signal prctl restart_syscall rseq
	set_robust_list set_tid_address setpgid setsid tgkill tkill uprobe uretprobe vfork
	wait4 waitid ` +

	// Debuggers, of what is the guest's own: it has a PID namespace.
	`process_vm_readv process_vm_writev ptrace ` +

	// Waiting for other threads.
	`futex futex_requeue futex_wait futex_waitv futex_wake ` +

	// Signals.
	`pause rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
	rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sigaltstack ` +

	// Whom a process runs as. There is one user in a guest, and no way to another.
	`capget capset getegid geteuid getgid getgroups getresgid getresuid getuid setfsgid
	setfsuid setgid setgroups setregid setresgid setresuid setreuid setuid ` +

	// A sandbox's own sandboxes: a filter or a rule set is only ever added.
	`landlock_add_rule landlock_create_ruleset landlock_restrict_self lsm_get_self_attr
	lsm_list_modules seccomp ` +

	// Scheduling and limits: no capability, so no more than the session has.
	`getcpu getpriority getrlimit getrusage ioprio_get ioprio_set sched_get_priority_max
	sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
	sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr
	sched_setparam sched_setscheduler sched_yield setpriority ` +

	// Time. adjtimex and clock_adjtime also only read it.
	`adjtimex alarm clock_adjtime clock_getres clock_gettime clock_nanosleep getitimer
	gettimeofday nanosleep setitimer time timer_create timer_delete timer_getoverrun
	timer_gettime timer_settime times ` +

	// The machine.
	`getrandom sysinfo uname`
