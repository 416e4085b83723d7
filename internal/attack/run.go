package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/riverlytech/art/internal/cli"
)

// The first argument of a process of this package.
const (
	roleAll = "all" // makes every attempt, each in a process of the next role
	roleOne = "one" // makes one
	roleSub = "sub" // is what an attempt starts
)

// patience is how long one attempt may take.
const patience = 10 * time.Second

// self is the running executable, which a guest need not be able to see.
const self = "/proc/self/exe"

// Command returns the arguments, the zeroth first, with which art, executed as path,
// makes all attempts on t and writes down how they went.
func Command(path string, t *Target) []string {
	return append([]string{path, roleAll}, t.arguments()...)
}

// Main is the program that Command starts. It returns the exit code.
func Main(args []string, stdout io.Writer) int {
	if err := run(args[0], args[1:], stdout); err != nil {
		cli.Fail("art", err)
		return cli.ExitError
	}
	return cli.OK
}

func run(path string, args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return errors.New("attack: nothing was asked for")
	}
	// What the kernel ties to a thread, as being somebody's tracer is, an attempt must
	// find again at its next call.
	runtime.LockOSThread()
	switch role, args := args[0], args[1:]; role {
	case roleAll:
		return everything(path, args, stdout)
	case roleOne:
		t, err := target(args[1:])
		if err != nil {
			return err
		}
		for _, a := range All() {
			if a.Name == args[0] {
				t.path = path
				return a.try(t)
			}
		}
	case roleSub:
		if try, ok := subs()[args[0]]; ok {
			return try()
		}
	}
	return fmt.Errorf("attack: %q is unknown", args)
}

// everything makes all attempts, one after the other, and writes a line for each:
// the name, a tab, and why it failed, which is nothing if it did not.
func everything(path string, target []string, stdout io.Writer) error {
	// An attempt that cannot even begin, for a limit say, would pass for one that failed.
	if err := start(path, nil, roleSub, "nothing"); err != nil {
		return fmt.Errorf("attack: start a process: %w", err)
	}
	for _, a := range All() {
		why := ""
		if err := start(path, nil, append([]string{roleOne, a.Name}, target...)...); err != nil {
			why = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		if _, err := fmt.Fprintf(stdout, "%s\t%s\n", a.Name, why); err != nil {
			return fmt.Errorf("attack: %w", err)
		}
	}
	return nil
}

// Results reads what the program that Command starts has written: for each attempt
// by name why it failed, "" where it succeeded.
func Results(text string) (map[string]string, error) {
	results := map[string]string{}
	for line := range strings.Lines(text) {
		name, why, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			return nil, fmt.Errorf("attack: %q is no result", line)
		}
		results[name] = why
	}
	if made := len(results); made != len(All()) {
		return nil, fmt.Errorf("attack: %d of %d attempts were made", made, len(All()))
	}
	return results, nil
}

// start runs this program in another role and returns nil if it succeeds. It leads a
// session, so that it can get a terminal, and has what descriptors were left open here.
func start(path string, attr *syscall.SysProcAttr, args ...string) error {
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	attr.Setsid = true
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	var said bytes.Buffer
	cmd.Args = append([]string{path}, args...)
	cmd.SysProcAttr, cmd.Stdin, cmd.Stderr = attr, os.Stdin, &said
	// A child that outlives the attempt may hold the pipe.
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if text, ok := strings.CutPrefix(strings.TrimSpace(said.String()), "art: "); ok && err != nil {
		return errors.New(text)
	}
	return err
}
