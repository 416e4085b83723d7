// Package store tests copies of databases in a store that speaks S3: versitygw, a gateway to a directory, which is built from its own module.
package store

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/processes"
)

// output is what a program has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // GUARDED_BY(mu)
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// host is one with a store, and what sessions need.
type host struct {
	t             *testing.T
	dir, address  string
	gatewayBinary string
	gateway       *exec.Cmd
}

func newHost(t *testing.T) *host {
	if os.Getenv("ART_TEST_S3") == "" {
		t.Skip("left out: make test-s3 builds a store, and runs it")
	}
	h := &host{t: t, dir: t.TempDir()}
	h.gatewayBinary = filepath.Join(h.dir, "versitygw")
	build := exec.Command("go", "build", "-o", h.gatewayBinary, "github.com/versity/versitygw/cmd/versitygw")
	build.Dir, build.Env = "gateway", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the store: %v\n%s", err, out)
	}
	for _, dir := range []string{"objects/bucket", "ws", "home", "run"} {
		if err := os.MkdirAll(filepath.Join(h.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.address = free.Addr().String()
	free.Close()
	h.start()
	t.Cleanup(h.kill)
	return h
}

// start starts the store.
func (h *host) start() {
	h.t.Helper()
	h.gateway = exec.Command(h.gatewayBinary, "--port", h.address, "posix", filepath.Join(h.dir, "objects"))
	h.gateway.Env = append(os.Environ(), "ROOT_ACCESS_KEY=key", "ROOT_SECRET_KEY=secret")
	if err := h.gateway.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.until("store", func() bool {
		c, err := net.Dial("tcp", h.address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// kill kills it.
func (h *host) kill() {
	if h.gateway != nil {
		_ = h.gateway.Process.Kill()
		_ = h.gateway.Wait()
		h.gateway = nil
	}
}

func (h *host) until(what string, is func() bool) {
	h.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("there is no %s", what)
		}
	}
}

func (h *host) url(path string) string {
	return "s3://bucket/" + path + "?endpoint=http://" + h.address
}

func (h *host) art(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(os.Getenv("ART_TEST_BIN"), "art"), args...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "HOME="+h.dir+"/home", "XDG_RUNTIME_DIR="+h.dir+"/run", "XDG_STATE_HOME="+h.dir+"/home",
		"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

func (h *host) must(args ...string) {
	h.t.Helper()
	if out, err := h.art(nil, args...).CombinedOutput(); err != nil {
		h.t.Fatalf("art %q: %v\n%s", args, err, out)
	}
}

// counted is how far a database's file "numbers" counts, which has to be without a gap.
func (h *host) counted(db string) (n int) {
	h.t.Helper()
	cat := exec.Command(filepath.Join(os.Getenv("ART_TEST_BIN"), "art-fuse"), "cat", db, "/ws/numbers")
	cat.Dir = h.dir
	text, err := cat.Output()
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n++; strings.TrimSpace(line) != strconv.Itoa(n) {
			h.t.Fatalf("line %d is %q", n, line)
		}
	}
	return n
}

// numbers counts into a file, with fsync, until the file stop is there.
const numbers = `python3 -c '
import os
f, n = os.open("numbers", os.O_WRONLY | os.O_CREAT), 0
while not os.path.exists("stop"):
    n += 1
    os.write(f, b"%d\n" % n)
    os.fsync(f)
print(n)
'`

// A session goes on while the store is away, and says so. Its copy is whole at the end.
func TestStoreThatIsKilled(t *testing.T) {
	h := newHost(t)
	var said output
	session := h.art(nil, "run", "-i=false", "-m", "ws", "-d", "a.db", "--replicate", h.url("a"), "--", "sh", "-c", numbers)
	session.Stderr = &said
	var count output
	session.Stdout = &count
	if err := session.Start(); err != nil {
		t.Fatal(err)
	}
	h.until("copy", func() bool {
		_, err := os.Stat(filepath.Join(h.dir, "objects/bucket/a/art.json"))
		return err == nil
	})
	for range 3 { // one that comes back soon is not worth a word
		time.Sleep(time.Second)
		h.kill()
		h.start()
	}
	time.Sleep(3 * time.Second)
	if text := said.String(); strings.Contains(text, "behind") {
		t.Errorf("it says %q", text)
	}
	h.kill()
	h.until("word of the copy that is behind", func() bool {
		return strings.Contains(said.String(), "is behind by 1") && strings.Contains(said.String(), ": connection refused; the session goes on\n")
	})
	h.start()
	h.until("word of the copy that is not", func() bool { return strings.Contains(said.String(), "is not behind any more\n") })
	if err := os.WriteFile(filepath.Join(h.dir, "ws/stop"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := session.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	h.must("restore", h.url("a"), "-d", "back.db")
	if n := h.counted("back.db"); fmt.Sprintln(n) != count.String() {
		t.Errorf("the copy has %d, and the guest had %s", n, &count)
	}
}

// A copy is looked into where it is, and little of it is fetched.
func TestLookedInto(t *testing.T) {
	h := newHost(t)
	h.must("run", "-q", "-m", "ws", "-d", "a.db", "--replicate", h.url("a"), "sh", "-c", "head -c 30000000 /dev/urandom >big; echo found >small; mkdir d; cp small d")
	store, err := url.Parse("http://" + h.address)
	if err != nil {
		t.Fatal(err)
	}
	var fetched atomic.Int64
	counting := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = store.Scheme, store.Host },
		ModifyResponse: func(r *http.Response) error {
			fetched.Add(max(r.ContentLength, 0))
			return nil
		},
	})
	defer counting.Close()
	look := func(program string, args ...string) string {
		t.Helper()
		cmd := h.art(nil, args...)
		cmd.Path = filepath.Join(os.Getenv("ART_TEST_BIN"), program)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil && program != "art" { // differences are an exit code
			t.Fatalf("%s %q: %v", program, args, err)
		}
		return string(out)
	}
	copied := "s3://bucket/a?endpoint=" + counting.URL
	for _, c := range []struct{ program, want, args string }{
		{"art-fuse", "big\nd\nsmall\n", "ls URL /ws"},
		{"art-fuse", "found\n", "cat URL /ws/d/small"},
		{"art", "A big\nA d/\nA d/small\nA small\n", "diff -m ws -d URL"},
	} {
		fetched.Store(0)
		got := look(c.program, strings.Fields(strings.ReplaceAll(c.args, "URL", copied))...)
		t.Logf("%s %s: %d bytes", c.program, c.args, fetched.Load())
		if got != c.want || fetched.Load() > 1<<20 {
			t.Errorf("%s %s: %q, %d bytes", c.program, c.args, got, fetched.Load())
		}
	}
}

// What a store refuses ends the session, and leaves the database and the copy as they were.
func TestRefused(t *testing.T) {
	h := newHost(t)
	h.must("run", "-q", "-i=false", "-m", "ws", "-d", "a.db", "--replicate", h.url("a"), "--", "sh", "-c", "echo 1 >numbers")
	for what, c := range map[string]struct {
		db, place string
		env       []string
		says      string
	}{
		"a wrong secret":   {"a.db", h.url("a"), []string{"AWS_SECRET_ACCESS_KEY=wrong"}, "the secret key is not that of the access key (SignatureDoesNotMatch)"},
		"no credentials":   {"a.db", h.url("a"), []string{"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="}, "there are no credentials for it"},
		"no bucket":        {"a.db", strings.Replace(h.url("a"), "bucket", "other", 1), nil, "there is no such bucket (NoSuchBucket)"},
		"another database": {"b.db", h.url("a"), nil, "it holds the copy of another database: " + h.dir + "/ws on "},
		"an unknown key":   {"a.db", h.url("a"), []string{"AWS_ACCESS_KEY_ID=nobody"}, "the store says: "},
	} {
		cmd := h.art(c.env, "run", "-q", "-i=false", "-m", "ws", "-d", c.db, "--replicate", c.place, "--", "sleep", "60")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 125 || !strings.Contains(string(out), c.says) || !strings.Contains(string(out), "art: hint: ") {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
	if out, err := h.art(nil, "list", h.url("")).CombinedOutput(); err != nil || !strings.Contains(string(out), h.url("a")) { // a whole bucket
		t.Errorf("the bucket has %s, %v", out, err)
	}
	h.must("restore", h.url("a"), "-d", "back.db")
	if h.counted("back.db") != 1 || h.counted("a.db") != 1 {
		t.Error("it is not what it was")
	}
}

// When a machine has died, another one goes on from the store, once the lease has run out, and at once with --take-over.
func TestMachineThatDies(t *testing.T) {
	h := newHost(t)
	var count output
	session := h.art(nil, "run", "-q", "-i=false", "-m", "ws", "-d", h.url("job"), "--", "sh", "-c", numbers)
	session.Stdout, session.Stderr = &count, &count
	if err := session.Start(); err != nil {
		t.Fatal(err)
	}
	head := filepath.Join(h.dir, "objects/bucket/job/art.json")
	h.until("copy", func() bool {
		copied, _ := filepath.Glob(filepath.Join(filepath.Dir(head), "generation-*/*/*.ltx"))
		return len(copied) > 8
	})
	die := func(pid int) {
		for _, p := range append(processes.Tree(pid), processes.Process{PID: pid}) {
			_ = syscall.Kill(p.PID, syscall.SIGSTOP)
		}
		for _, p := range append(processes.Tree(pid), processes.Process{PID: pid}) {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
		_ = session.Wait()
	}
	t.Cleanup(func() {
		if session.ProcessState == nil {
			die(session.Process.Pid)
		}
	})
	die(session.Process.Pid)
	for _, step := range []struct {
		flags []string
		most  time.Duration
	}{{nil, time.Minute}, {[]string{"--take-over"}, 10 * time.Second}} {
		began := time.Now()
		args := append([]string{"run", "-i=false", "-m", "ws", "-d", h.url("job")}, step.flags...)
		session = h.art([]string{"XDG_STATE_HOME=" + t.TempDir()}, append(args, "--", "sh", "-c", "tail -n 1 numbers; exec sleep 60")...)
		var said output
		session.Stdout, session.Stderr = &said, &said
		if err := session.Start(); err != nil {
			t.Fatal(err)
		}
		h.until("session elsewhere", func() bool { return regexp.MustCompile(`(?m)^\d+$`).MatchString(said.String()) })
		took := time.Since(began)
		t.Logf("%q: it goes on after %v", step.flags, took.Round(100*time.Millisecond))
		if took > step.most {
			t.Errorf("%q: it goes on after %v:\n%s", step.flags, took, &said)
		}
		h.until("generation", func() bool {
			return strings.Contains(h.head(head), `"pid": `+strconv.Itoa(h.replicator(session.Process.Pid))+",")
		})
		die(session.Process.Pid)
	}
}

func (h *host) head(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// replicator is the process that copies a session's database.
func (h *host) replicator(session int) int {
	for _, p := range processes.Tree(session) {
		if p.Comm == "art-replicate" {
			return p.PID
		}
	}
	return 0
}

// Sessions side by side, as `make load` has them, but few: each copy has all that was written.
func TestLoad(t *testing.T) {
	h := newHost(t)
	load := exec.Command("go", "run", "../../exercise/load", "-bin", os.Getenv("ART_TEST_BIN"), "-dir", filepath.Join(h.dir, "load"),
		"-endpoint", "http://"+h.address, "-bucket", "bucket", "-n", "6", "-at-once", "3", "-work", "5s", "-sample", "500ms")
	load.Env = append(os.Environ(), "CGO_ENABLED=0", "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")
	out, err := load.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	if !strings.Contains(string(out), "; 0 failed; copies brought back, with all that was written: 6 of 6\n") {
		t.Error("not all of it was checked")
	}
}
