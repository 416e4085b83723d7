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
  object a line, which man art-trace describes.
`,
	Flags: []Flag{
		{Name: "log", Arg: "FILE", Offer: Files, Default: "standard error", Says: "where the trace goes",
			More: "The file is made readable by its owner alone."},
		{Name: "log-fd", Arg: "N", Says: "write to the open descriptor N instead"},
		{Name: "syscalls", Arg: "LIST", Offer: Calls, Default: "all",
			Says: `what to trace, between commas: names ("openat"), classes of strace ("%file"), and either with "!" in front to leave it out`,
			More: `The classes are "%file", "%desc", "%network", "%process", "%memory", "%signal", "%ipc", "%creds", "%clock", "%stat" and the others of strace(1).`},
		{Name: "format", Arg: "FORMAT", Choices: traceFormats, Default: "text",
			Says: `"text", as strace writes it, "json", an object a line, "summary" or "report"`,
			More: `The last two are the same as the flags of these names.`},
		{Name: "summary", Says: "write only a table at the end: how often each call was made, how often it failed, how long it took"},
		{Name: "report", Says: "write only a digest at the end: programs executed, files read, written and deleted, connections, calls refused"},
		{Name: "attach", Arg: "PID", Offer: Processes, Says: "trace a running process and what it starts, until it ends or art-trace is interrupted"},
		{Name: "deny", Arg: "CALLS[@WHAT][=ERRNO]", Offer: Calls, Default: "EPERM", Repeat: true,
			Says: `let calls, named as for --syscalls, fail with ERRNO, such as ENOENT; "@/etc": those on that path and below; "@inet": those on such sockets`,
			More: `WHAT is an absolute path or an address family, such as "inet", "inet6" or "unix". A rule that is for none of the calls is refused. Of several for a call, the last counts.`},
		{Name: "secrets-fd", Arg: "N", Says: "show what is in the open descriptor N as asterisks: values with a NUL between them",
			More: "Those shorter than six bytes are shown."},
		{Name: "filter-by", Arg: "WHO", Choices: "self payload", Default: "self",
			Says: `"self": trace from the command on; "payload": the command is a sandbox, and its payload loads the filter itself`},
		{Name: "string-limit", Short: "s", Arg: "N", Says: "show up to N bytes of strings and buffers, and N arguments of a program; 32 by default, and 4096 in json"},
		{Name: "decode-fds", Short: "y", Says: "show what descriptors refer to"},
		{Name: "relative-timestamps", Short: "r", Says: "begin each line with the time since the one before"},
		{Name: "absolute-timestamps", Short: "tt", Says: "begin each line with the time of day"},
		{Name: "syscall-times", Short: "T", Says: "end each line with the time spent in the call"},
		version,
	},
	Notes: `EXIT STATUS
  The command's own; 128+n when signal n ended it; 125 when art-trace failed, 126
  when the command cannot be executed, 127 when there is none of that name. With
  --attach, 0 when the process has ended or was let go.

NOTES
  Set-user-ID programs run without their privileges when they are traced, except
  by root. Calls of 32-bit programs are shown with numbers for arguments. What is
  submitted through io_uring, or refused by a seccomp filter of the command's own,
  is not seen.
  An attached process stops at every call, whatever --syscalls selects.
  --deny refuses 32-bit calls and io_uring with ENOSYS as well, which would be ways
  around it. A rule for calls alone, or of socket for a family, cannot be got around by
  changing memory; one for a path can, and goes by paths as they are written, without
  following links. The call that executes the command itself is never refused.

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

var version = Flag{Name: "version", Says: "print the version"}
