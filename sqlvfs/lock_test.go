package sqlvfs

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs/lock"
)

func TestSecondWriterIsToldTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	defer s.Close()
	_, err := Open(path, Options{})
	var inUse *InUseError
	if !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
		t.Errorf("second writer: %v", err)
	}
}

// A writer that is killed leaves nothing that would keep the next one out.
func TestDeadWriterIsNoObstacle(t *testing.T) {
	if path := os.Getenv("ART_TEST_WRITER"); path != "" {
		s := openTest(t, path)
		must(t, s.WriteAt(create(t, s, "f", syscall.S_IFREG|0o600), []byte("x"), 0, nil, Now()))
		must(t, s.Sync())
		os.Stdout.WriteString("up")
		select {}
	}
	path := filepath.Join(t.TempDir(), "a.db")
	cmd := exec.Command(os.Args[0], "-test.run=^TestDeadWriterIsNoObstacle$")
	cmd.Env = append(os.Environ(), "ART_TEST_WRITER="+path)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = out.Read(make([]byte, 2))
	must(t, err)
	var inUse *InUseError
	if _, err := Open(path, Options{}); !errors.As(err, &inUse) || inUse.PID != cmd.Process.Pid {
		t.Errorf("while it lives: %v", err)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait()
	s := openTest(t, path)
	if got := content(t, s, lookup(t, s, "f")); string(got) != "x" {
		t.Errorf("content %q", got)
	}
	must(t, s.Close())
}

// One that is about to end is waited for, and the next one is told that it waits.
func TestLeavingWriterIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	must(t, s.Close())
	f, err := lock.Take(path, nil)
	must(t, err)
	lock.SayLeaving(f)
	const long = 2 * lock.Grace
	told, start := 0, time.Now()
	time.AfterFunc(long, func() { f.Close() })
	s, err = Open(path, Options{Waiting: func(pid int) {
		told++
		if pid != os.Getpid() {
			t.Errorf("told of process %d", pid)
		}
	}})
	must(t, err)
	if waited := time.Since(start); told != 1 || waited < long {
		t.Errorf("told %d times, waited %v", told, waited)
	}
	must(t, s.Close())
}

// So is one that has closed it, and holds it for something else.
func TestHeldIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	f, err := openTest(t, path).CloseHeld()
	must(t, err)
	if _, open, err := Writer(path); !open || err != nil {
		t.Errorf("it is not held: %v", err)
	}
	r, err := Open(path, Options{ReadOnly: true})
	must(t, err)
	must(t, r.Close())
	const long = 2 * lock.Grace
	start := time.Now()
	time.AfterFunc(long, func() { f.Close() })
	s := openTest(t, path)
	if waited := time.Since(start); waited < long {
		t.Errorf("waited %v", waited)
	}
	must(t, s.Close())
}

func TestRemoveAndRename(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	to := path + ".moved"
	s := openTest(t, path)
	if pid, open, err := Writer(path); pid != os.Getpid() || !open || err != nil {
		t.Errorf("the writer is %d, %v, %v", pid, open, err)
	}
	for what, err := range map[string]error{"remove": Remove(path), "rename": Rename(path, to)} {
		if used := new(InUseError); !errors.As(err, &used) {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, s.Close())
	if pid, open, err := Writer(path); pid != 0 || open || err != nil {
		t.Errorf("the writer is %d, %v, %v", pid, open, err)
	}
	must(t, os.WriteFile(to, nil, 0o600))
	if err := Rename(path, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto another: %v", err)
	}
	must(t, os.Remove(to))
	must(t, os.WriteFile(path+"-wal", []byte("x"), 0o600))
	if err := Rename(path, to); !errors.Is(err, ErrBeingRead) {
		t.Errorf("with a log: %v", err)
	}
	must(t, os.Truncate(path+"-wal", 0))
	must(t, Rename(path, to))
	must(t, openTest(t, to).Close())
	must(t, Remove(to))
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("left is %v, %v", left, err)
	}
}
