package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// MaxTries is how many forks one run makes.
const MaxTries = 100

// TryOptions say what is tried, and how often.
type TryOptions struct {
	Options
	Count, Jobs int
	Name, At    string // what forks are called, and the checkpoint that they are of; "": the present
	Command     []string
	Stderr      io.Writer
	Terminal    bool // standard error is one
	// Run runs a command in a session on a database, with the fork's name in its environment, and returns the exit code.
	Run func(ctx context.Context, db, fork string, command []string, output io.Writer) (int, error)
}

// TriedError says that commands have ended with another exit code than 0: the highest.
type TriedError struct{ Code int }

func (e TriedError) Error() string {
	return fmt.Sprintf("a command has ended with exit code %d", e.Code)
}

const (
	maxOutput  = 64 << 10 // bytes of a command's output that are kept: the last ones
	maxWords   = 16 << 10 // and of the command itself, as far as results go
	triedEvery = time.Second
)

// Result is what came of a fork, as its database keeps it.
type Result struct {
	Command  []string  `json:"command"`
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`
	ExitCode int       `json:"exit_code"`
	Output   string    `json:"output"` // its end
}

// trial is one of the forks.
type trial struct {
	name, path string
	command    []string
	began      time.Time
	took       time.Duration
	code       int
	done       bool
}

// tail keeps the end of what is written.
type tail struct{ data []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p[max(0, len(p)-maxOutput):]...)
	if len(t.data) > 2*maxOutput {
		t.data = append([]byte(nil), t.data[len(t.data)-maxOutput:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	data := t.data
	if len(data) > maxOutput {
		data = data[len(data)-maxOutput:]
		if _, rest, ok := bytes.Cut(data, []byte("\n")); ok {
			data = rest
		}
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}

// Try makes forks and runs a command in each, side by side. What came of each is kept in the fork, which stays.
func Try(ctx context.Context, o TryOptions) error {
	t := &tries{o: &o}
	if err := t.make(ctx); err != nil {
		return fmt.Errorf("make forks of %s: %w", o.DB, Hinted(o.DB, err))
	}
	err := t.run(ctx)
	if err != nil {
		return err
	}
	if code := t.worst(); code != 0 {
		return TriedError{code}
	}
	return nil
}

type tries struct {
	o    *TryOptions
	list []*trial

	mu    sync.Mutex // of what follows, of trials, and makes a line one step
	drawn int        // lines on the terminal
}

// make makes the forks, all of them or none.
func (t *tries) make(ctx context.Context) error {
	var paths []string
	for n := 1; len(paths) < t.o.Count; n++ {
		name := fmt.Sprintf("%s-%d", t.o.Name, n)
		path, err := workspace.Fork(t.o.DB, name)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(path); err == nil {
			continue // taken
		}
		path = workspace.Absolute(path)
		paths = append(paths, path)
		c := &trial{name: name, path: path}
		for _, word := range t.o.Command {
			c.command = append(c.command, strings.ReplaceAll(word, "{n}", strconv.Itoa(n)))
		}
		t.list = append(t.list, c)
	}
	_, err := t.o.forks(ctx, t.o.At, paths)
	return err
}

// run runs the command in each, and returns when all have ended.
func (t *tries) run(ctx context.Context) error {
	stop := t.tick()
	var group sync.WaitGroup
	slots := make(chan struct{}, t.o.Jobs)
	errs := make([]error, len(t.list))
	for i, c := range t.list {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			if err := t.one(ctx, c); err != nil {
				errs[i] = fmt.Errorf("try %s: %w", c.name, err)
			}
		})
	}
	group.Wait()
	stop()
	if ctx.Err() != nil {
		return cli.WithHint(fmt.Errorf("try: %w", errInterrupted), "the forks stay: art compare shows what came of them, art rm removes one")
	}
	return errors.Join(errs...)
}

// one runs one command, and keeps what came of it.
func (t *tries) one(ctx context.Context, c *trial) error {
	t.mu.Lock()
	c.began = time.Now()
	t.say(c)
	t.mu.Unlock()
	var output tail
	code, err := t.o.Run(ctx, c.path, c.name, c.command, &output)
	took := time.Since(c.began)
	if err != nil && code == 0 {
		code = cli.ExitArt
	}
	if err == nil || ctx.Err() != nil {
		err = t.keep(c, &Result{shortened(c.command), c.began, took.Round(time.Millisecond).Seconds(), code, output.text()})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c.code, c.took, c.done = code, took, true
	t.say(c)
	return err
}

// shortened is a command as far as it is kept.
func shortened(command []string) (list []string) {
	left := maxWords
	for _, word := range command {
		if left -= len(word); left < 0 {
			return append(list, "…")
		}
		list = append(list, strings.ToValidUTF8(word, "\uFFFD"))
	}
	return list
}

// keep writes what came of a fork into it.
func (t *tries) keep(c *trial, r *Result) error {
	text, err := json.Marshal(r)
	for err == nil && len(text) > sqlvfs.MaxResult && r.Output != "" { // a byte may be six as JSON
		r.Output = strings.ToValidUTF8(r.Output[(len(r.Output)+1)/2:], "\uFFFD")
		text, err = json.Marshal(r)
	}
	if err != nil {
		return err
	}
	var s *sqlvfs.Store
	for until := time.Now().Add(endsWithin); ; time.Sleep(endsWithin / 100) {
		s, err = sqlvfs.Open(c.path, sqlvfs.Options{Waiting: t.waiting(c)})
		if _, inUse := errors.AsType[*sqlvfs.InUseError](err); !inUse || time.Now().After(until) {
			break // the session's server was ending
		}
	}
	if err != nil {
		return err
	}
	err = s.SetResult(text)
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	return err
}

// waiting says which process is waited for that is about to close a fork. What is drawn next comes below that.
func (t *tries) waiting(c *trial) func(pid int) {
	if t.o.Quiet {
		return nil
	}
	say := cli.Waiting(t.o.Stderr, t.o.Prog, c.path)
	return func(pid int) {
		t.mu.Lock()
		defer t.mu.Unlock()
		say(pid)
		t.drawn = 0
	}
}

func (t *tries) worst() (code int) {
	for _, c := range t.list {
		code = max(code, c.code)
	}
	return code
}

// line says how far one is.
func (t *tries) line(c *trial) string {
	text := "waits"
	switch {
	case c.done:
		text = fmt.Sprintf("exit code %d after %v", c.code, c.took.Round(100*time.Millisecond))
	case !c.began.IsZero() && t.o.Terminal:
		text = fmt.Sprintf("runs, for %v", time.Since(c.began).Round(time.Second))
	case !c.began.IsZero():
		text = "started"
	}
	return t.o.Prog + ": " + c.name + ": " + text
}

// say says how far one is, or on a terminal how far all are. LOCKS_REQUIRED(t.mu)
func (t *tries) say(c *trial) {
	switch {
	case t.o.Quiet:
	case t.o.Terminal:
		t.draw()
	default:
		fmt.Fprintln(t.o.Stderr, t.line(c))
	}
}

// draw draws all lines anew, in place of the last ones. LOCKS_REQUIRED(t.mu)
func (t *tries) draw() {
	var b strings.Builder
	if t.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", t.drawn)
	}
	for _, c := range t.list {
		b.WriteString("\r\x1b[K" + t.line(c) + "\n")
	}
	t.drawn = len(t.list)
	io.WriteString(t.o.Stderr, b.String())
}

// tick draws from time to time, until stop is called.
func (t *tries) tick() (stop func()) {
	if !t.o.Terminal || t.o.Quiet {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(triedEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				t.mu.Lock()
				t.draw()
				t.mu.Unlock()
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// forksOf are the forks of a database: the names of those beside it, and the paths of those elsewhere that are where they were made.
func forksOf(db string) (names []string, err error) {
	all, err := workspace.Forks(db)
	if err != nil {
		return nil, err
	}
	of, err := os.Stat(db)
	if err != nil {
		return nil, err
	}
	beside := map[string]bool{}
	for _, name := range all {
		path, err := workspace.Fork(workspace.Absolute(db), name)
		if err != nil {
			continue
		}
		parent, _, err := sqlvfs.ForkOf(path)
		if err != nil || parent == "" {
			continue
		}
		if is, err := os.Stat(parent); err == nil && os.SameFile(of, is) {
			names = append(names, name)
			beside[path] = true
		}
	}
	slices.SortFunc(names, byNumber)
	s, err := sqlvfs.Open(db, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	forks, err := s.Forks()
	for i := range forks {
		if f := &forks[i]; f.IsThere() && !beside[f.Path] {
			names = append(names, f.Path)
		}
	}
	return names, err
}

// byNumber sorts names that end in a number by that.
func byNumber(a, b string) int {
	number := func(name string) (string, int) {
		head := strings.TrimRight(name, "0123456789")
		n, _ := strconv.Atoi(name[len(head):])
		return head, n
	}
	x, m := number(a)
	y, n := number(b)
	if c := strings.Compare(x, y); c != 0 {
		return c
	}
	return m - n
}
