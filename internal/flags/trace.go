package flags

// Trace is art-trace.
var Trace = &Command{
	Name:     "art-trace",
	Says:     "run a command and write down its system calls",
	Synopsis: []string{"[flags] [--] command [argument...]", "[flags] --attach PID"},
	Payload:  true,
	Exits:    AsGuest,
	Env:      true,
	Text: `  The command and all that it starts are traced. Calls are selected inside the
  kernel: those that are not run at native speed. Standard output and input belong
  to the command. A trace is as strace -f -o writes it, or with --format json one
  object a line, which man art-trace describes. The flags of strace have their names
  here, and may be bundled: -yT.
`,
	Bundles: true,
	Lacks:   straceAlone,
	Flags: []Flag{
		{Name: "log", Short: "o", Also: "output", Arg: "FILE", Offer: Files, Default: "standard error", Says: "where the trace goes",
			More: `The file is made readable by its owner alone. Of a name that begins with "|" or "!", which is a command to strace, nothing is run: name a file ./|x, or let the shell run the command: "--log-fd 9 9> >(cmd)".`},
		{Name: "log-fd", Arg: "N", Says: "write to the open descriptor N instead"},
		{Name: "syscalls", Also: "trace", Arg: "LIST", Offer: Calls, Default: "all",
			Says: `what to trace, between commas: names ("openat"), classes of strace ("%file"), regular expressions ("/^open"), and each with "!" in front to leave it out`,
			More: `The classes are "%file", "%desc", "%network", "%process", "%memory", "%signal", "%ipc", "%creds", "%clock", "%stat" and the others of strace(1).`},
		{Name: "e", Arg: "EXPR", Repeat: true, Says: `what strace's -e says: "trace=LIST", "signal=LIST", "status=HOW", "read=FDS" or "write=FDS"`,
			More: `A LIST with "!" in front is all but what it names, and without a word before it, it is one of calls. What is read from or written to the descriptors FDS is shown whole in the format text, as hexadecimal numbers and as text; "all" is all of them.`},
		{Name: "signal", Also: "signals", Arg: "LIST", Says: `trace only these signals, as "-e signal=LIST"`},
		{Name: "status", Arg: "HOW", Offer: "successful failed unfinished detached all none", Says: `trace only calls that end so: "successful", "failed", "unfinished" or "detached"`},
		{Name: "trace-path", Short: "P", Arg: "PATH", Offer: Files, Repeat: true, Says: "trace only calls on this path, by its name or by a descriptor"},
		{Name: "successful-only", Short: "z", Says: "trace only calls that succeed, each once it has returned"},
		{Name: "failed-only", Short: "Z", Says: "trace only calls that fail"},
		{Name: "format", Arg: "FORMAT", Choices: traceFormats, Default: "text",
			Says: `"text", as strace writes it, "json", an object a line, "summary" or "report"`,
			More: `The last two are the same as the flags of these names.`},
		{Name: "summary", Short: "c", Also: "summary-only", Says: "write only a table at the end: how often each call was made, how often it failed, how long it took"},
		{Name: "with-summary", Short: "C", Says: "write the trace, and that table at its end"},
		{Name: "report", Says: "write only a digest at the end: programs executed, files read, written and deleted, connections, servers, calls refused",
			More: `It tells of what has succeeded, and of what was refused, for which threads stop at each call of it. With --entries it tells of what was asked for, whether or not it was there, at about half of the cost. A file that is opened to be read and written, and neither made nor emptied by that, stands apart: whether it was written to is not known.`},
		{Name: "json", Says: "write json: the trace, or the whole digest of --report or table of --summary as one object"},
		{Name: "entries", Says: "tell only which calls are made, not what they return, nor of signals and ends: by user notification, a tenth of the cost",
			More: `A line has "?" for a result, and an object of json the event "entry". A digest is of what was asked for, whatever came of it.`},
		{Name: "attach", Short: "p", Arg: "PID", Offer: Processes, Repeat: true, Says: "trace a running process and what it starts, until it ends or art-trace is interrupted",
			More: "Several may be named, also between commas: it is until all have ended. If one cannot be traced, none is."},
		{Name: "deny", Arg: "CALLS[@WHAT][=ERRNO]", Offer: Calls, Default: "EPERM", Repeat: true,
			Says: `let calls, named as for --syscalls, fail with ERRNO, such as ENOENT; "@/etc": those on that path and below; "@inet": those on such sockets`,
			More: `WHAT is an absolute path or an address family, such as "inet", "inet6" or "unix". A rule that is for none of the calls is refused. Of several for a call, the last counts.`},
		{Name: "secrets-fd", Arg: "N", Says: "show what is in the open descriptor N as asterisks: values with a NUL between them",
			More: "Those shorter than six bytes are shown."},
		{Name: "filter-by", Arg: "WHO", Choices: "self payload", Default: "self",
			Says: `"self": trace from the command on; "payload": the command is a sandbox, and its payload loads the filter itself`},
		{Name: "engine", Arg: "ENGINE", Choices: "auto ptrace notify", Default: "auto",
			Says: `"ptrace": threads stop at calls; "notify": the kernel asks about calls (seccomp_unotify(2)), with --entries alone; "auto": notify where that can be`},
		{Name: "string-limit", Short: "s", Arg: "N", Says: "show up to N bytes of strings and buffers, and N arguments of a program; 32 by default, and 4096 in json"},
		{Name: "non-ascii-in-hex", Short: "x", Says: "show strings that are no ASCII text as hexadecimal numbers"},
		{Name: "strings-in-hex", Short: "xx", Also: "all-in-hex", Arg: "WHICH", Switch: true, Offer: "all non-ascii non-ascii-chars none",
			Says: `show all strings so, or with "non-ascii-chars" only those characters`},
		{Name: "no-abbrev", Short: "v", Says: "show structures and environments whole"},
		{Name: "decode-fds", Short: "y", Arg: "KINDS", Switch: true, Offer: "all path socket dev pidfd signalfd none", Says: "show what descriptors refer to"},
		{Name: "decode-sockets", Short: "yy", Says: "show that, and of sockets the protocol and addresses, of devices the numbers"},
		{Name: "timestamps", Short: "t", Also: "absolute-timestamps", Arg: "HOW", Switch: true, Offer: "time unix time,ms time,us time,ns unix,us",
			Says: `begin each line with the time of day in seconds, or as HOW says: "time" or "unix", and "s", "ms", "us" or "ns"`},
		{Name: "precise-timestamps", Short: "tt", Says: "begin each line with the time of day in microseconds"},
		{Name: "unix-timestamps", Short: "ttt", Says: "begin each line with the seconds and microseconds since 1970"},
		{Name: "relative-timestamps", Short: "r", Arg: "UNIT", Switch: true, Offer: "s ms us ns", Says: `begin each line with the time since the one before, to the microsecond or UNIT`},
		{Name: "syscall-times", Short: "T", Arg: "UNIT", Switch: true, Offer: "s ms us ns", Says: "end each line with the time spent in the call, to the microsecond or UNIT"},
		{Name: "columns", Short: "a", Arg: "N", Default: "40", Says: "write results in this column"},
		{Name: "quiet", Short: "q", Also: "silent silence", Arg: "WHAT", Switch: true, Offer: "all attach denied exit path-resolution personality thread-execve none",
			Says: `leave out "exit", how processes end, "thread-execve", or "all" that strace has; "denied": what --deny refuses, mostly in the kernel then, without a stop`,
			More: "Without WHAT it is for those who are used to it."},
		{Name: "no-exits", Short: "qq", Says: "leave out how processes end"},
		{Name: "output-separately", Short: "ff", Says: "write a file for each thread, which is the log's name, a dot and its id"},
		{Name: "follow-forks", Short: "f", Says: "for those who are used to it: what a command starts is always traced"},
		{Name: "seccomp-bpf", Says: "for those who are used to it: calls are always selected by a filter in the kernel"},
		{Name: "version", Short: "V", Says: version.Says},
	},
	Notes: `EXIT STATUS
  The command's own. When a signal ended it, art-trace ends by the same one, which
  shells show as 128+n. 125 when art-trace failed, 126 when the command cannot be
  executed, 127 when there is none of that name. With --attach, 0 when the
  processes have ended or were let go.

NOTES
  Set-user-ID programs run without their privileges when they are traced, except
  by root. Calls of 32-bit programs are shown with numbers for arguments. What is
  submitted through io_uring, or refused by a seccomp filter of the command's own, or
  answered by that filter's listener (seccomp_unotify(2)), is not seen.
  An attached process stops at every call, whatever --syscalls selects.
  With --entries the kernel asks about calls (seccomp_unotify(2)), at a tenth of the
  cost of a stop. Threads stop (ptrace(2)) without it, as results are known at stops
  alone, those of --report too; for --attach, as a filter cannot be loaded into a process
  from outside; for art --trace; for a --deny with a path or an address; before Linux
  5.19, and where somebody listens to art-trace's own calls already.
  --deny refuses 32-bit calls and io_uring with ENOSYS as well, and seccomp filters
  with a listener with EBUSY, which would be ways around it. A rule for calls alone, or of
  socket for a family, cannot be got around by changing memory; one for a path can, and
  goes by paths as they are written, without following links, and without regard to
  another root (chroot(2), RESOLVE_IN_ROOT of openat2(2)). The call that executes the
  command itself is never refused.
  With --quiet=denied, -z or a --status without "failed" no line tells of a refused
  call, and the kernel refuses it by itself, at no cost, unless the rule has a path or an
  address, or art-trace needs the call to execute the command (execve, write, mmap).

EXAMPLES
  art-trace --syscalls %file -- make
  art-trace --log t.log --syscalls execve,connect -- npm install
  art-trace --format json --log t.json --syscalls '!%memory' -- python3 app.py
  art-trace --report -- npm install
  art-trace --deny %network@inet=ENETUNREACH --deny %network@inet6=ENETUNREACH -- make test
  art-trace --deny %file@/etc/ssl=ENOENT -- curl https://example.org
`,
}

const traceFormats = "text json summary report"

// straceAlone are flags that strace has, and what art-trace's users do instead.
var straceAlone = map[string]string{
	"A": "write to a descriptor that appends: --log-fd 9 9>>FILE", "output-append-mode": "write to a descriptor that appends: --log-fd 9 9>>FILE",
	"b": "end art-trace by a signal to let a process that it is attached to go", "detach-on": "end art-trace by a signal to let a process that it is attached to go",
	"D": "start art-trace itself in the background", "daemonize": "start art-trace itself in the background",
	"E": "set variables by env(1) in front of the command", "env": "set variables by env(1) in front of the command",
	"I": "signals are passed on to the command", "interruptible": "signals are passed on to the command",
	"i": "use strace or a debugger", "instruction-pointer": "use strace or a debugger",
	"k": "use strace, perf trace or a debugger", "stack-traces": "use strace, perf trace or a debugger",
	"n": "--json and the names of calls are for programs", "syscall-number": "--json and the names of calls are for programs",
	"O": "none is subtracted", "summary-syscall-overhead": "none is subtracted",
	"S": "pipe the table through sort(1)", "summary-sort-by": "pipe the table through sort(1)",
	"U": "--json has all columns", "summary-columns": "--json has all columns",
	"u": "run art-trace as root with setpriv(1) or su(1) in front of the command", "user": "run art-trace as root with setpriv(1) or su(1) in front of the command",
	"w": "the times of --summary are such already", "summary-wall-clock": "the times of --summary are such already",
	"Y": "execve in the trace has the programs", "decode-pids": "execve in the trace has the programs",
	"X": "flags are shown by name", "const-print-style": "flags are shown by name",
	"inject": "refuse calls by --deny CALLS=ERRNO", "fault": "refuse calls by --deny CALLS=ERRNO",
	"argv0": "give the command another name by bash's exec -a", "tips": "there are none",
	"secontext": "use strace", "d": "use strace", "debug": "use strace",
}

var version = Flag{Name: "version", Says: "print the version"}
