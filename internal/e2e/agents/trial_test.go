package agents

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/e2e/modelserver"
	"github.com/riverlytech/art/internal/preset"
)

type entry = config.Entry

// limit bounds a run of an agent: without a network some wait a while for what they look for there.
const limit = 3 * time.Minute

// A trial is an agent as one layout has it.
type trial struct {
	*testing.T
	agent
	home  string // of the caller
	other string // the agent's on the host
	path  string
	state string // where art keeps databases and homes
	url   string

	lock   sync.Mutex
	events []modelserver.Event
}

func newTrial(t *testing.T, a agent, l layout, dir string) *trial {
	tr := &trial{T: t, agent: a, home: filepath.Join(dir, l.name), other: t.TempDir(), state: t.TempDir()}
	for _, sub := range strings.Split(l.path, ":") {
		tr.path += filepath.Join(tr.home, sub) + ":"
	}
	tr.path += os.Getenv("PATH")
	server := httptest.NewServer(&modelserver.Server{Log: func(e modelserver.Event) {
		tr.lock.Lock()
		defer tr.lock.Unlock()
		tr.events = append(tr.events, e)
	}})
	t.Cleanup(server.Close)
	tr.url = server.URL
	return tr
}

// all runs the agent in art and on the host, and returns the medians of the times to the first prompt.
func (tr *trial) all(runs int) (in, host time.Duration) {
	version := tr.art(tr.workspace(), append([]string{"run", "-q", tr.name}, tr.asked()...)...)
	if want := pinned(tr.name); !strings.Contains(version, want) {
		tr.Fatalf("the version is %q, want %s", version, want)
	}
	for name, text := range tr.files {
		tr.art(tr.workspace(), "run", "-q", "--home", tr.name, "--", "sh", "-c", `mkdir -p "$(dirname ~/"$1")"; printf %s "$2" >~/"$1"`, "sh", name, text)
	}
	var inside, outside []time.Duration
	for range max(runs, 2) { // each in a workspace of its own, all with the same home
		inside = append(inside, tr.inside())
	}
	for range runs {
		outside = append(outside, tr.outside())
	}
	return median(inside), median(outside)
}

func (tr *trial) asked() []string {
	if tr.versionArgs != nil {
		return tr.versionArgs
	}
	return []string{"--version"}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// workspace makes a repository with a file to edit.
func (tr *trial) workspace() string {
	tr.Helper()
	dir := filepath.Join(tr.TempDir(), "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		tr.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "greeting.txt"), []byte("first\nhello\nlast\n"), 0o644); err != nil {
		tr.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			tr.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// environment is that of a caller with the home.
func (tr *trial) environment(home string, more ...string) []string {
	env := []string{"PATH=" + tr.path, "HOME=" + home, "TERM=xterm-256color", "LANG=C.UTF-8", tr.key + "=sk-ant-of-the-test-0123456789012345678901234567890"}
	for _, kv := range tr.env {
		env = append(env, strings.ReplaceAll(kv, "{url}", tr.url))
	}
	return append(env, more...)
}

func (tr *trial) task() []string {
	args := slices.Clone(tr.args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "{url}", tr.url)
	}
	return args
}

// inside runs the agent in art, takes over what it did, and returns the time to its first prompt.
func (tr *trial) inside() time.Duration {
	tr.Helper()
	work := tr.workspace()
	before := tree(tr.T, tr.home)
	took := tr.timed(func() { tr.art(work, append([]string{"run", tr.name}, tr.task()...)...) })
	if after := tree(tr.T, tr.home); after != before {
		tr.Error("the caller's home is another than before")
	}
	if got := read(tr.T, work, "greeting.txt"); got != "first\nhello\nlast\n" {
		tr.Errorf("the file on the host is %q before pull", got)
	}
	tr.art(work, "pull", "-q", "greeting.txt", "ran.txt")
	tr.done(work)
	return took
}

// outside runs the agent on the host, in a home that it keeps too.
func (tr *trial) outside() time.Duration {
	tr.Helper()
	work := tr.workspace()
	for name, text := range tr.files {
		file := filepath.Join(tr.other, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			tr.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tr.Fatal(err)
		}
	}
	p, err := preset.Load(tr.name)
	if err != nil {
		tr.Fatal(err)
	}
	env := tr.environment(tr.other)
	for _, v := range p.Settings.Set {
		env = append(env, v.Name+"="+v.Value)
	}
	took := tr.timed(func() { tr.run(work, env, p.Program[0], slices.Concat(p.Arguments, p.Unasked, tr.task())...) })
	tr.done(work)
	return took
}

// done checks what the task leaves in the workspace.
func (tr *trial) done(work string) {
	tr.Helper()
	if got := read(tr.T, work, "greeting.txt"); got != "first\ngoodbye\nlast\n" {
		tr.Errorf("the file is %q", got)
	}
	if got := read(tr.T, work, "ran.txt"); got != "ran\n" {
		tr.Errorf("the command left %q", got)
	}
}

// timed runs an agent, checks the steps of its conversation, and returns the time to the first.
func (tr *trial) timed(run func()) time.Duration {
	tr.Helper()
	tr.lock.Lock()
	tr.events = nil
	tr.lock.Unlock()
	start := time.Now()
	run()
	tr.lock.Lock()
	defer tr.lock.Unlock()
	var steps []string
	var first time.Duration
	for _, e := range tr.events {
		if e.Step == "" || e.Step == "auxiliary" {
			continue
		}
		if steps = append(steps, e.Step); len(steps) == 1 {
			first = e.Time.Sub(start)
		}
	}
	if !slices.Equal(steps, tr.steps) {
		tr.Errorf("the steps are %q, want %q", steps, tr.steps)
	}
	return first
}

// art runs art, with databases, homes and settings of its own.
func (tr *trial) art(work string, args ...string) string {
	tr.Helper()
	return tr.run(work, tr.environment(tr.home, "XDG_STATE_HOME="+tr.state+"/state", "XDG_DATA_HOME="+tr.state+"/data", "XDG_CONFIG_HOME="+tr.state+"/config"), "art", args...)
}

func (tr *trial) run(work string, env []string, program string, args ...string) string {
	tr.Helper()
	ctx, cancel := context.WithTimeout(tr.Context(), limit)
	defer cancel()
	path, err := lookPath(tr.path, program)
	if err != nil {
		tr.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = work, env, 10*time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		tr.Fatalf("%s %q: %v\n%s", program, args, err, out.String())
	}
	return out.String()
}

func lookPath(path, program string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if info, err := os.Stat(filepath.Join(dir, program)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, program), nil
		}
	}
	return "", fmt.Errorf("%s is not in %s", program, path)
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tree lists what is below a directory, with sizes and times.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
