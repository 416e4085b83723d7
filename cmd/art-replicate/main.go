// Command art-replicate copies the database of a session to another place while the session writes it, and brings such copies back. It
// is for art alone, which starts it: see control/replica.go.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/confine"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/replica"
	"github.com/riverlytech/art/internal/replica/place"
	"github.com/riverlytech/art/internal/replica/ssh"
	"github.com/riverlytech/art/internal/version"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

const prog = "art-replicate"

// memory is from where on the collector runs more often.
const memory = 48 << 20

// speaker is in whose name errors are told, and stderr is where.
var speaker, stderr = prog, os.Stderr

func main() {
	err := libexec.CheckCaller(prog)
	// The clients of stores log to what os.Stderr is then.
	if null, nerr := os.OpenFile(os.DevNull, os.O_WRONLY, 0); nerr == nil {
		os.Stderr = null
	}
	if err == nil {
		err = run(os.Args[1:])
	}
	if err != nil {
		if !errors.As(err, new(told)) {
			cli.Fprint(stderr, speaker, err)
		}
		os.Exit(cli.ExitError)
	}
}

// told is an error that art has been told of.
type told struct{ error }

func run(args []string) error {
	word := ""
	if len(args) > 0 {
		word, args = args[0], args[1:]
	}
	switch {
	case word == "--version" && len(args) == 0:
		_, err := fmt.Printf("%s %s\n", prog, version.Version)
		return err
	case word == "connect":
		return ssh.Serve(args)
	case word == "copy" && len(args) == 0:
		return copyDatabase()
	case word == "restore" && len(args) == 3:
		speaker = "art"
		return restore(args[0], args[1], args[2])
	case word == "list" && len(args) == 2:
		speaker = "art"
		return list(args[0], args[1] == "true")
	case word == "pages" && len(args) == 1:
		return pages(args[0])
	case word == "remove" && len(args) == 3:
		speaker = "art"
		return remove(args[0], args[1] == "true", args[2] == "true")
	case word == "release" && len(args) == 2:
		return release(args[0], args[1])
	case word == "copied" && len(args) == 2:
		return answer(copied(args[0], args[1]))
	case word == "fetch" && len(args) == 6:
		return answer(fetch(args[0], args[1], args[2], args[3], args[4] == "true", args[5] == "true"))
	}
	return cli.WithHint(errors.New("read the command line: this program is for art alone"), "see art run --help, --replicate")
}

// answer tells art on standard output why something has failed, and what to do about it, in two lines.
func answer(err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	var hinted cli.Hinted
	if errors.As(err, &hinted) {
		hint = hinted.Hint()
	}
	fmt.Printf("%s\n%s\n", cli.Printable(err.Error()), cli.Printable(hint))
	return told{err}
}

// copyDatabase copies what art has named until art closes standard input, and what is left then.
func copyDatabase() error {
	// Its end is that of the session, not a Ctrl-C that is meant for the command.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	unix.Umask(0o077)
	debug.SetMemoryLimit(memory)
	giveWay()
	sent, _ := os.Open("/proc/self/io")
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // it has credentials
		return fmt.Errorf("keep others from this process: %w", err)
	}
	what, source := &control.Replica{}, os.NewFile(control.ReplicaFD, "what")
	err := control.ReadFile(source, what)
	source.Close()
	if errors.Is(err, io.EOF) {
		return nil // there is no session
	}
	if err != nil {
		return fmt.Errorf("read what to copy: %w", err)
	}
	var mu sync.Mutex
	tell := func(s control.ReplicaState) {
		mu.Lock()
		defer mu.Unlock()
		_ = control.WriteFrame(os.Stdout, &s) // art has ended otherwise, and the copy is to be whole all the same
	}
	var job *replica.Job
	if err = replica.Reach(what.Place); err == nil {
		if job, err = replica.Open(what, sent, tell); err == nil && job == nil {
			tell(control.ReplicaState{Left: true})
			return nil
		}
	}
	if err == nil {
		// Of the database, SQLite makes and removes the log.
		err = confineTo(what.Place, true, filepath.Dir(what.Database), what.Kept)
	}
	if err == nil {
		end, leave := make(chan struct{}), make(chan os.Signal, 1)
		signal.Notify(leave, control.ReplicaGiveUp)
		go func() {
			<-leave
			job.Abandon()
		}()
		go func() {
			hear(os.Stdin, job)
			close(end)
		}()
		err = job.Run(end)
	}
	if err != nil {
		state := control.ReplicaState{Why: err.Error(), Failed: true, Refused: replica.IsRefused(err)}
		var hinted cli.Hinted
		if errors.As(err, &hinted) {
			state.Hint = hinted.Hint()
		}
		tell(state)
		return told{err}
	}
	tell(control.ReplicaState{})
	return nil
}

// niceness is how far the session goes before its copy where both want a processor. Where all are busy, it leaves the copy a quarter of one.
const niceness = 5

// giveWay has the session go before its copy.
func giveWay() {
	if unix.Getpgrp() != unix.Getpid() {
		return // others would, too
	}
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, niceness) // that of the process is of one thread
	// Among sessions of terminals, of which art has begun one for this process, only this counts where the kernel groups by them (sched(7), The
	// autogroup feature).
	_ = os.WriteFile("/proc/self/autogroup", []byte(strconv.Itoa(niceness)), 0)
}

// copied fails unless a database says that it is copied to a place.
func copied(database, url string) error {
	if err := confine.Replicate([]string{filepath.Dir(database)}, nil); err != nil {
		return err
	}
	s, err := sqlvfs.Open(database, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer s.Close()
	places, err := sqlvfs.Query(s, (*sqlvfs.Tx).Copied)
	if err == nil && !slices.Contains(places, url) {
		err = errors.New("it is not copied there")
	}
	return err
}

// hear hears what art says, until it closes standard input or has ended.
func hear(from io.Reader, job *replica.Job) {
	for {
		frame, err := control.ReadFrame(from)
		if err != nil {
			return
		}
		var how control.ReplicaEnd
		if control.Unmarshal(frame, &how) == nil {
			job.End(how)
		}
	}
}

// confineTo leaves this process a place, to write if writes, and directories of this host to write.
func confineTo(url string, writes bool, dirs ...string) error {
	if err := replica.Reach(url); err != nil {
		return err
	}
	var from []string
	if d := place.Directory(url); d != "" {
		if _, err := os.Stat(d); writes && err == nil {
			dirs = append(dirs, d)
		} else {
			from = append(from, d)
		}
	}
	return confine.Replicate(dirs, read(), from...)
}

// read are the files that credentials and certificates are in, as the clients of stores look for them.
func read() (files []string) {
	home := os.Getenv("HOME")
	files = append(files, filepath.Join(home, ".aws", "credentials"), filepath.Join(home, ".aws", "config"))
	for _, name := range []string{
		"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_CA_BUNDLE", "SSL_CERT_FILE",
	} {
		if path := os.Getenv(name); filepath.IsAbs(path) {
			files = append(files, path)
		}
	}
	return files
}
