package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/exercise/mounted"
)

var (
	duration = flag.Duration("duration", 4*time.Second, "how long each exercise goes on")
	seed     = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random numbers")
)

func TestMain(m *testing.M) {
	mounted.Main()
	os.Exit(m.Run())
}

// The files are begun on the host, so that their content shows through from the base, and worked on
// in the overlay, before and after a remount. The same operations on the host's own file system tell
// errors of the exerciser from those of the overlay.
func TestExercise(t *testing.T) {
	do := func(dir string, duration time.Duration) {
		t.Helper()
		if err := exercised(dir, *seed, duration, 4); err != nil {
			t.Fatal(err)
		}
	}
	base := t.TempDir()
	do(filepath.Join(base, "files"), *duration/8)
	do(filepath.Join(base, "files"), *duration/8)
	o := mounted.New(t, base)
	over, plain := filepath.Join(o.Dir, mounted.Workspace, "files"), filepath.Join(o.Dir, "plain")
	do(over, *duration/4)
	do(plain, *duration/4)
	o.Remount(t)
	do(over, *duration/4)
	do(plain, 0)
	do(filepath.Join(base, "files"), 0) // which nothing has changed
}

// What the exerciser is for: content that is not as it should be is found, wherever it is.
func TestExerciserFindsWhatIsWrong(t *testing.T) {
	for what, damage := range map[string]func(path string) error{
		"a changed byte": func(path string) error {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt([]byte{'!'}, 12345)
			return err
		},
		"a byte too much":   func(path string) error { return os.Truncate(path, 20_001) },
		"a byte too little": func(path string) error { return os.Truncate(path, 19_999) },
		"another name":      func(path string) error { return os.Link(path, path+"2") },
		"nothing there":     os.Remove,
	} {
		dir := t.TempDir()
		r, err := newRun(dir, 1, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.exercise(1, 0); err != nil {
			t.Fatal(err)
		}
		f := r.files[0]
		data := r.noise(20_000)
		f.Image.truncate(0)
		f.Image.writeAt(data, 0)
		path := filepath.Join(dir, f.Names[0])
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := r.save(); err != nil {
			t.Fatal(err)
		}
		if err := damage(path); err != nil {
			t.Fatal(err)
		}
		if err := exercised(dir, 1, 0, 1); err == nil {
			t.Errorf("%s was not found", what)
		}
	}
}
