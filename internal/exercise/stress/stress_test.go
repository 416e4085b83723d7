package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/exercise/mounted"
)

var (
	duration = flag.Duration("duration", 4*time.Second, "how long each exercise goes on")
	seed     = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random numbers")
)

func TestMain(m *testing.M) {
	if job := os.Getenv(jobKey); job != "" {
		os.Exit(work(job))
	}
	mounted.Main()
	os.Exit(m.Run())
}

// The tree is begun on the host, so that much of it is the base's, and worked on in the overlay,
// before and after a remount. The same on the host's own file system tells errors of the exerciser
// from those of the overlay.
func TestStress(t *testing.T) {
	t.Logf("seed %d", *seed)
	do := func(dir string, duration time.Duration) {
		t.Helper()
		if _, err := run(dir, *seed, duration, 6); err != nil {
			t.Fatal(err)
		}
	}
	base := t.TempDir()
	do(filepath.Join(base, "st"), *duration/8)
	o := mounted.New(t, base)
	over, plain := filepath.Join(o.Dir, mounted.Workspace, "st"), filepath.Join(o.Dir, "plain")
	do(over, *duration/4)
	do(plain, *duration/4)
	o.Remount(t)
	do(over, *duration/4)
	do(plain, 0)
	do(filepath.Join(base, "st"), 0) // which nothing has changed
}

// What the exerciser is for: each thing that must hold is missed when it does not.
func TestStressFindsWhatIsWrong(t *testing.T) {
	write := func(path, data string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, path), []byte(data), 0o644) }
	}
	tail := func(path, data string) func(dir string) error {
		return func(dir string) error {
			f, err := os.OpenFile(filepath.Join(dir, path), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString(data)
			return err
		}
	}
	for _, c := range []struct {
		damage func(dir string) error
		says   string
	}{
		{tail("logs/log1", "1.0 99"), "is not whole"},
		{write("logs/log2", ""), "records of"},
		{write("counters/counter3", "1"), "counter3"},
		{write("exclusive/file1", ""), "exclusive has 1 entries"},
		{tail("replaced/file2", "!"), "replaced file2"},
		{func(dir string) error { return os.Remove(filepath.Join(dir, "busy", stayingName(7))) }, "is listed 0 times"},
		{write("tree/slots", string(slot(1, 0))), "slot 0 holds"},
		{write("tree/new", ""), "was not"},
	} {
		dir := t.TempDir()
		if _, err := run(dir, 1, 300*time.Millisecond, 2); err != nil {
			t.Fatal(err)
		}
		if err := c.damage(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := run(dir, 1, 0, 1); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q is not what was found: %v", c.says, err)
		}
	}
}
