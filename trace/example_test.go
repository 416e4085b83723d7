package trace_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
	"github.com/riverlytech/art/trace/policy"
)

// Which files a command asks for, and with what result.
func ExampleRun() {
	cmd := &trace.Command{
		Path:  "/bin/cat",
		Args:  []string{"cat", "/nonexistent", "/dev/null"},
		Calls: []string{"openat"},
	}
	status, err := trace.Run(context.Background(), cmd, trace.Hooks{
		OnExit: func(c *decode.Call) error {
			path, _ := decode.String(c.Mem, c.Args[1])
			if path != "/nonexistent" && path != "/dev/null" {
				return nil // the loader's and the C library's own
			}
			if c.Failed {
				fmt.Println(path, decode.ErrorName(c))
			} else {
				fmt.Println(path, "is open")
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println("exit status", status.ExitStatus())
	// Output:
	// /nonexistent ENOENT
	// /dev/null is open
	// exit status 1
}

// Which programs a command executes, at a tenth of the cost: what comes of the calls is not asked.
func ExampleCommand_entries() {
	_, err := trace.Run(context.Background(), &trace.Command{
		Path:    "/bin/sh",
		Args:    []string{"sh", "-c", "/bin/true; exec /bin/echo hello"},
		Calls:   []string{"execve"},
		Entries: true,
	}, trace.Hooks{
		OnEnter: func(c *decode.Call) error {
			args, _ := decode.Strings(c.Mem, c.Args[1], 10, 100)
			fmt.Println(strings.Join(args, " "))
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// sh -c /bin/true; exec /bin/echo hello
	// /bin/true
	// /bin/echo hello
}

// A command that may have no connection to the internet, but sockets of this
// machine, and that may not see a directory.
func ExampleChain() {
	rules := &policy.Policy{}
	for _, rule := range []string{"%network@inet=ENETUNREACH", "%network@inet6=ENETUNREACH", "%file@/etc=ENOENT"} {
		if err := rules.Refuse(rule); err != nil {
			fmt.Println(err)
			return
		}
	}
	refused := trace.Hooks{OnExit: func(c *decode.Call) error {
		for _, path := range decode.Paths(c) {
			if c.Injected && path == "/etc/passwd" {
				fmt.Println("refused:", path, decode.ErrorName(c))
			}
		}
		return nil
	}}
	status, err := trace.Run(context.Background(), &trace.Command{
		Path:   "/bin/sh",
		Args:   []string{"sh", "-c", "[ -e /etc/passwd ] || echo there is no /etc/passwd"},
		Stdout: os.Stdout,
		Calls:  []string{"%file"},
	}, trace.Chain(rules, refused))
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println("exit status", status.ExitStatus())
	// Output:
	// refused: /etc/passwd ENOENT
	// there is no /etc/passwd
	// exit status 0
}

// A command that finds another file where it looks for one, as by a symbolic link
// that only it sees.
func ExampleHooks() {
	file, err := os.CreateTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(file.Name())
	fmt.Fprintln(file, "hello from elsewhere")
	redirect := trace.Hooks{OnEnter: func(c *decode.Call) error {
		path, ok := decode.String(c.Mem, c.Args[1])
		if !ok || !strings.HasPrefix(path, "/secret/") {
			return nil
		}
		if path != "/secret/key" {
			c.Fail(unix.EACCES)
			return nil
		}
		return c.SetString(1, file.Name())
	}}
	_, err = trace.Run(context.Background(), &trace.Command{
		Path:   "/bin/cat",
		Args:   []string{"cat", "/secret/key", "/secret/other"},
		Stdout: os.Stdout,
		Stderr: os.Stdout,
		Env:    []string{"LC_ALL=C"},
		Calls:  []string{"openat"},
	}, redirect)
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// hello from elsewhere
	// cat: /secret/other: Permission denied
}
