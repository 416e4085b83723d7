package sandbox

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/fusemount"
	"github.com/riverlytech/art/internal/processes"
	"github.com/riverlytech/art/internal/sandbox/join"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/sandbox/stub"
	sessions "github.com/riverlytech/art/internal/session"
)

func TestMain(m *testing.M) {
	switch {
	case os.Args[0] == stage.Name:
		if _, err := os.Stat(noFUSE); err == nil {
			if err := unix.Mount(os.DevNull, "/dev/fuse", "", unix.MS_BIND, ""); err != nil {
				panic(err)
			}
		}
		os.Exit(stage.Main())
	case os.Args[0] == join.Name:
		os.Exit(join.Main())
	case os.Args[0] == stage.Stub:
		os.Exit(stub.Main())
	case filepath.Base(os.Args[0]) == "art-fuse":
		os.Exit(fakeFUSE(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// noFUSE is a file in the working directory of a test, where the stage cannot mount FUSE.
const noFUSE = "no-fuse"

var errForced = errors.New("refused by the test")

// overlay runs a command over a new workspace, in overlay mode, on the stand-in
// for art-fuse. It returns what the command wrote.
func overlay(t *testing.T, mode string, refusal error, command ...string) (out string, code int, err error) {
	t.Helper()
	workspace := filepath.Join(t.TempDir(), "ws")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	return overlayOf(t, workspace, mode, refusal, command...)
}

func overlayOf(t *testing.T, workspace, mode string, refusal error, command ...string) (out string, code int, err error) {
	t.Helper()
	if err := deviceRefusal(); err != nil {
		t.Fatalf("this test mounts FUSE: %v (chmod 0666 /dev/fuse makes it possible)", err)
	}
	libexec := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(libexec, "art-fuse")); err != nil {
		t.Fatal(err)
	}
	runtime := ownRuntime(t)
	t.Setenv("ART_LIBEXEC_DIR", libexec)
	t.Setenv(behaviour, mode)

	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(pipe[0]), "r"), os.NewFile(uintptr(pipe[1]), "w")
	defer r.Close()
	s, err := newSession(false, [3]*os.File{null, w, w}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.prepare(&request{Options: Options{Workspace: workspace, Database: filepath.Join(filepath.Dir(workspace), "x.db"), Command: command}}, refusal); err != nil {
		t.Fatal(err)
	}
	defer s.release()
	code, err = s.run(refusal)
	w.Close()
	text, readErr := io.ReadAll(r)
	if readErr != nil {
		t.Fatal(readErr)
	}
	if left := processes.Mounts(runtime); len(left) > 0 {
		t.Errorf("left mounted: %q", left)
	}
	// The directory of the sockets stays for the next session.
	if left, err := filepath.Glob(runtime + "/*/*"); err != nil || len(left) > 0 {
		t.Errorf("left in the runtime directory: %v, %v", left, err)
	}
	return string(text), code, err
}

// ownRuntime makes a directory for a session's mounts, where no other session has any.
func ownRuntime(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return dir
}

// Where there is a reason for no session, art-fuse and the stage, which wait by then, have ended when it is told.
func TestRefusedWhileOthersWait(t *testing.T) {
	t.Setenv("ART_LIBEXEC_DIR", t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(os.Getenv("ART_LIBEXEC_DIR"), "art-fuse")); err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s, err := newSession(false, [3]*os.File{null, null, null}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Workspace: t.TempDir(), Database: filepath.Join(t.TempDir(), "x.db"), Hide: []string{""}, Command: []string{"true"}}
	if err := s.prepare(&request{Options: o}, nil); err == nil || !strings.Contains(err.Error(), "empty path") {
		t.Error(err)
	}
	if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
		t.Errorf("process %d is left: %v", pid, err)
	}
}

func TestBothWaysToMount(t *testing.T) {
	for name, refusal := range map[string]error{"in the stage": nil, "by fusermount3": errForced} {
		for range 10 { // the second way has several programs that wait for each other
			out, code, err := overlay(t, serves, refusal, "sh", "-c", "pwd; ls -d ~/ws; grep -c ' /home/agent fuse.art rw' /proc/mounts; exit 5")
			if code != 5 || err != nil || out != "/home/agent/ws\n/home/agent/ws\n1\n" {
				t.Fatalf("%s: %q, exit code %d, %v", name, out, code, err)
			}
		}
	}
}

// Where fusermount3 mounts the home, there is no mount for the repository outside of the workspace: the session goes
// on without it.
func TestRepositoryWithBothWaysToMount(t *testing.T) {
	for name, refusal := range map[string]error{"in the stage": nil, "by fusermount3": errForced} {
		dir := t.TempDir()
		workspace, own := filepath.Join(dir, "ws"), filepath.Join(dir, "repo/.git/worktrees/ws")
		for path, text := range map[string]string{
			filepath.Join(workspace, ".git"): "gitdir: " + own, filepath.Join(own, "gitdir"): filepath.Join(workspace, ".git"),
			filepath.Join(own, "commondir"): "../..", filepath.Join(own, "HEAD"): "ref: refs/heads/main",
			filepath.Join(own, "../../objects/x"): "", filepath.Join(own, "../../refs/x"): "",
		} {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := workspace + "\n1\n"
		if refusal != nil {
			want = workspace + "\n0\n"
		}
		out, _, err := overlayOf(t, workspace, serves, refusal, "sh", "-c", "pwd; grep -c '/repo/.git fuse.art rw' /proc/mounts")
		if out != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, out, err, want)
		}
	}
}

func TestServerFailures(t *testing.T) {
	for _, refusal := range []error{nil, errForced} {
		begin := time.Now()
		if _, code, err := overlay(t, serves, refusal, "true"); code != 0 || err != nil {
			t.Fatalf("%v: exit code %d, %v", refusal, code, err)
		}
		usual := time.Since(begin)
		for _, test := range []struct{ mode, err, hint string }{
			{refuses, "open the database: it is broken", "mend it"},
			{ends, "start art-fuse: it ended", ""},
			{refusesLate, "serve: it is broken", "mend it"},
			{endsLate, "start art-fuse: it ended", ""},
			{dies, "serve the workspace: art-fuse ended: signal: killed", "everything up to its last commit"},
			{fails, "save the changes: art-fuse ended: exit status 1", ""},
		} {
			command := []string{"sh", "-c", "echo ran"}
			if test.mode == dies {
				command = []string{"sleep", "1000"}
			}
			begin := time.Now()
			out, code, err := overlay(t, test.mode, refusal, command...)
			if code != cli.ExitArt || err == nil || !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("%s (%v): exit code %d, %v, want %q", test.mode, refusal, code, err, test.err)
			}
			var h cli.Hinted
			if hinted := errors.As(err, &h); test.hint != "" && (!hinted || !strings.HasPrefix(h.Hint(), test.hint)) {
				t.Errorf("%s (%v): no hint %q in %v", test.mode, refusal, test.hint, err)
			}
			if ran := out == "ran\n"; ran != (test.mode == fails) {
				t.Errorf("%s (%v): the command wrote %q", test.mode, refusal, out)
			}
			if d := time.Since(begin); d > 2*time.Second+2*usual {
				t.Errorf("%s (%v): it took %v, and %v without a failure", test.mode, refusal, d, usual)
			}
		}
	}
}

// What the kernel refuses in the stage, fusermount3 does; where it cannot either, the session ends.
func TestRefusalInTheStage(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(noFUSE, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code, err := overlay(t, serves, nil, "sh", "-c", "echo ran; exit 5"); code != 5 || err != nil || out != "ran\n" {
		t.Errorf("%q, exit code %d, %v", out, code, err)
	}
	// Without art-fuse there is nobody to give the mount to.
	if _, code, err := overlay(t, ends, nil, "true"); code != cli.ExitArt || err == nil || !strings.HasPrefix(err.Error(), "start art-fuse: it ended") {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// Who waits for art-fuse, at the start of a session, hears why it has ended, and has the time to tell.
func TestEndOfTheServerIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("exit status 1")
		for _, test := range []struct {
			guest *guest
			err   error
			want  time.Duration
		}{{nil, failed, unmountGrace}, {&guest{}, failed, endGrace}, {&guest{}, nil, unmountGrace}} {
			s := session{guest: test.guest}
			begin := time.Now()
			s.fuseEnded(test.err)
			if <-s.kill; time.Since(begin) != test.want {
				t.Errorf("a guest: %v, art-fuse ended with %v: killed after %v, want %v", test.guest != nil, test.err, time.Since(begin), test.want)
			}
		}
	})
}

// On a busy machine, the end of the guest can be heard of long after that of the mount. It is no
// failure.
func TestGuestIsWaitedForAfterItsMount(t *testing.T) {
	out, code, err := overlay(t, leaves, nil, "sh", "-c", "sleep 1; echo ran; exit 5")
	if out != "ran\n" || code != 5 || err != nil {
		t.Errorf("%q, exit code %d, %v", out, code, err)
	}
}

func TestSweep(t *testing.T) {
	ownRuntime(t)
	lock, err := lockRuntimeDir()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	// As two sessions leave it that are killed before and after the mount.
	early, late := filepath.Join(lock.Name(), "early"), filepath.Join(lock.Name(), "late")
	for _, dir := range []string{early, late} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := fusemount.Mount(late, fusemount.Options{Source: "art"})
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	sweep(lock.Name())
	for _, dir := range []string{early, late} {
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
	if err := os.Remove(lock.Name()); err != nil {
		t.Error(err)
	}
}

// A session that fusermount3 mounts for sweeps what killed ones have left, and nothing of those that run.
func TestSweepLeavesSessions(t *testing.T) {
	ownRuntime(t)
	dir, err := sessions.Make(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	server, err := sessions.Listen(dir, func(*sessions.Conn, *control.Ask) {})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	lock, err := lockRuntimeDir()
	if err != nil {
		t.Fatal(err)
	}
	sweep(lock.Name())
	(&session{handover: &handover{dir: filepath.Join(lock.Name(), "own"), lock: lock}}).dropHandover()
	if ids := sessions.IDs([]string{dir}); len(ids) != 1 || ids[0] != server.ID {
		t.Errorf("sessions %v, want %s alone", ids, server.ID)
	}
}

func TestExitCode(t *testing.T) {
	for text, want := range map[string]int{
		"": -1, "{": -1, `{ "child-pid": 5, "ipc-namespace": 7 }`: -1,
		"{ \"child-pid\": 5 }\n{ \"exit-code\": 143 }\n": 143, `{"exit-code": 0}`: 0,
	} {
		code, ok := exitCode([]byte(text))
		if ok != (want >= 0) || ok && code != want {
			t.Errorf("%q: %d, %v, want %d", text, code, ok, want)
		}
	}
}

// What art-trace says is told at once, and is no reason why a sandbox was not built.
func TestDiagnosisTellsTheTracersWords(t *testing.T) {
	var told strings.Builder
	d := diagnosis{told: &told}
	d.Write([]byte("bwrap: one\nart-trace: log: full\nart-trace: hint: empty it\n"))
	d.Write([]byte("bwrap: two\n"))
	if got := told.String(); got != "art-trace: log: full\nart-trace: hint: empty it\n" {
		t.Errorf("told %q", got)
	}
	if got := d.String(); got != "one; two" {
		t.Errorf("kept %q", got)
	}
}

// bubblewrap writes its name first, and may be killed then.
func TestDiagnosisOfANameIsNone(t *testing.T) {
	var d diagnosis
	d.Write([]byte("bwrap: "))
	if got := d.String(); got != "" {
		t.Errorf("%q", got)
	}
}

func TestDiagnosisIsOneShortLine(t *testing.T) {
	var d diagnosis
	for range 3 * maxDiagnosis / 16 {
		if n, err := d.Write([]byte("bwrap: no good\n\n")); n != 16 || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := d.String(); strings.ContainsRune(got, '\n') || strings.Contains(got, "bwrap") || len(got) > 100 {
		t.Errorf("%q", got)
	}
}
