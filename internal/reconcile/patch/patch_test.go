package patch

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// apply gives a patch to a program in a directory.
func apply(t *testing.T, dir, patch string, program ...string) {
	t.Helper()
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s\n%s", program, err, out, patch)
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return b
}

var changes = map[string]File{
	"changed":     {"f", "f", Regular, Regular, []byte("a\nb\nc\n"), []byte("a\nB\nc\nd\n")},
	"no newline":  {"f", "f", Regular, Regular, []byte("a\nb"), []byte("a\nb\n")},
	"new":         {"d/f", "d/f", None, Regular, nil, []byte("text\n")},
	"new empty":   {"f", "f", None, Executable, nil, nil},
	"gone":        {"f", "f", Regular, None, []byte("text\n"), nil},
	"gone empty":  {"f", "f", Regular, None, nil, nil},
	"emptied":     {"f", "f", Regular, Regular, []byte("text\n"), nil},
	"mode":        {"f", "f", Regular, Executable, []byte("text\n"), []byte("text\n")},
	"mode too":    {"f", "f", Regular, Executable, []byte("text\n"), []byte("other\n")},
	"renamed":     {"f", "d/g", Regular, Regular, []byte("text\n"), []byte("text\n")},
	"renamed too": {"f", "g", Regular, Regular, []byte("a\nb\nc\n"), []byte("a\nb\nd\n")},
	"strange":     {"a b", "a b", Regular, Regular, []byte("1\n"), []byte("2\n")},
	"stranger":    {"\"q\\\t\xff\x01é", "\"q\\\t\xff\x01é", Regular, Regular, []byte("1\n"), []byte("\xff\x1b[1m2\r\n")},
	"binary":      {"f", "f", Regular, Regular, append(noise(1000), 0), append([]byte{0}, noise(5000)...)},
	"binary new":  {"f", "f", None, Regular, nil, make([]byte, 53)},
	"binary gone": {"f", "f", Regular, None, []byte{0, 1, 2}, nil},
	"to binary":   {"f", "f", Regular, Regular, []byte("text\n"), []byte("te\x00xt")},
	"link":        {"l", "l", None, Symlink, nil, []byte("target")},
	"other link":  {"l", "l", Symlink, Symlink, []byte("target"), []byte("other")},
}

func put(t *testing.T, dir, name string, mode uint32, data []byte) {
	t.Helper()
	at := filepath.Join(dir, name)
	var err error
	switch mode {
	case None:
		return
	case Symlink:
		err = os.Symlink(string(data), at)
	case Executable:
		err = os.WriteFile(at, data, 0o755)
	default:
		err = os.WriteFile(at, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, dir, name string, mode uint32, data []byte) {
	t.Helper()
	at := filepath.Join(dir, name)
	st, err := os.Lstat(at)
	if mode == None {
		if !os.IsNotExist(err) {
			t.Errorf("%s is there (%v)", name, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	if mode == Symlink {
		target, err := os.Readlink(at)
		if err != nil {
			t.Fatal(err)
		}
		got = []byte(target)
	} else if got, err = os.ReadFile(at); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, data) || mode != Symlink && (st.Mode()&0o100 != 0) != (mode == Executable) {
		t.Errorf("%s: mode %v, content %q; want %q", name, st.Mode(), got, data)
	}
}

func TestGitApplies(t *testing.T) {
	for what, f := range changes {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, f.OldName, f.OldMode, f.Old)
			apply(t, dir, f.String(), "git", "apply")
			check(t, dir, f.NewName, f.NewMode, f.New)
			if f.OldName != f.NewName {
				check(t, dir, f.OldName, None, nil)
			}
		})
	}
}

func TestPatchApplies(t *testing.T) {
	for _, what := range []string{"changed", "no newline", "new", "gone", "emptied", "mode too", "renamed too", "strange"} {
		t.Run(what, func(t *testing.T) {
			f := changes[what]
			dir := t.TempDir()
			put(t, dir, f.OldName, f.OldMode, f.Old)
			apply(t, dir, f.String(), "patch", "-p1", "--batch")
			if what == "emptied" { // patch(1) takes that for a removal
				return
			}
			check(t, dir, f.NewName, f.NewMode, f.New)
		})
	}
}

func TestCount(t *testing.T) {
	f := changes["changed"]
	if added, removed := f.Count(); added != 2 || removed != 1 {
		t.Errorf("%d added, %d removed", added, removed)
	}
	f = changes["binary"]
	if added, removed := f.Count(); added != 0 || removed != 0 {
		t.Errorf("binary: %d added, %d removed", added, removed)
	}
}

// A file of lines alone takes no more memory to show than a multiple of its size.
func TestManyLines(t *testing.T) {
	f := File{OldName: "a", NewName: "a", OldMode: Regular, NewMode: Regular, New: bytes.Repeat([]byte{'\n'}, 8<<20)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := f.String()
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 256 || !strings.Contains(text, "GIT binary patch") {
		t.Errorf("%d MiB for %.200s", n, text)
	}
}
