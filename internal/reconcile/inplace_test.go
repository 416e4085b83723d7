package reconcile

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/sqlvfs"
)

// large plants a file that is large enough to be changed in place, of which the guest changes three bytes and
// to which it adds some. It returns what the guest has.
func large(b bench) (want []byte) {
	content := make([]byte, patchFrom+12345)
	rand.NewChaCha8([32]byte{1}).Read(content)
	b.write("big", string(content))
	b.guest(func(g *guest) {
		for _, off := range []int64{0, 1_000_000, patchFrom + 12344} {
			g.patch("big", "x", off)
			content[off] = 'x'
		}
		g.patch("big", "added", patchFrom+12345)
	})
	return append(content, "added"...)
}

func (b bench) wantBytes(rel string, want []byte) {
	b.t.Helper()
	got, err := os.ReadFile(b.path(rel))
	must(b.t, err)
	if !bytes.Equal(got, want) {
		b.t.Errorf("%s is not what the guest has", rel)
	}
}

// A file that is changed in place stays the same inode, and keeps what is the host's of it.
func TestPullChangesLargeFilesInPlace(t *testing.T) {
	b := newInPlace(t)
	want := large(b)
	before := b.stat("big")
	out, told := b.pull(b.ws)
	if !strings.Contains(out, "FILE ws/big (") || strings.Contains(told, "CONFLICT") {
		t.Errorf("%s%s", out, told)
	}
	b.wantBytes("big", want)
	if after := b.stat("big"); after.Ino != before.Ino {
		t.Error("it was written anew")
	}
	if out, _ := b.pull(b.ws); strings.Contains(out, "FILE") {
		t.Errorf("again:\n%s", out)
	}
	b.guest(func(g *guest) {
		if got := g.read("big"); got != string(want) {
			t.Error("the guest reads something else")
		}
		g.patch("big", "y", 2_000_000)
		want[2_000_000] = 'y'
	})
	b.pull(b.ws)
	b.wantBytes("big", want)
}

// newInPlace is a bench on a file system that knows no clones, which would be written instead (tmpfs).
func newInPlace(t *testing.T) bench {
	dir, err := fastDir()
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	b := bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}
	must(t, os.Mkdir(b.ws, 0o755))
	return b
}

// Other names of a file may be outside of the workspace, and must not change there.
func TestPullChangesNoLinkedFilesInPlace(t *testing.T) {
	b := newBench(t)
	want := large(b)
	other := b.other() + "/linked"
	must(t, os.Link(b.path("big"), other))
	old, err := os.ReadFile(other)
	must(t, err)
	b.pull(b.ws)
	b.wantBytes("big", want)
	now, err := os.ReadFile(other)
	must(t, err)
	if !bytes.Equal(now, old) {
		t.Error("the other name changed too")
	}
}

// A pull that is killed while it writes into a file has announced it: what is there will do for the row, to
// which nothing is lost, in the next session and in the next pull.
func TestPullKilledInPlace(t *testing.T) {
	for _, session := range []bool{false, true} {
		b := newBench(t)
		want := large(b)
		half := func() {
			f, err := os.OpenFile(b.path("big"), os.O_RDWR, 0)
			must(t, err)
			defer f.Close()
			_, err = f.WriteAt(want[:chunkSize], 0)
			must(t, err)
		}
		half()
		if _, told, err := b.run(Pull, b.ws); !errors.Is(err, ErrConflicts) {
			t.Fatalf("nothing was announced, and taken all the same: %v %s", err, told)
		}
		b.sql("UPDATE art_origin SET until=1<<40 WHERE path=CAST('big' AS BLOB)")
		if session {
			b.guest(func(g *guest) {
				if got := g.read("big"); got != string(want) {
					t.Error("the guest reads something else")
				}
			})
		}
		if _, told := b.pull(b.ws); strings.Contains(told, "CONFLICT") {
			t.Errorf("session %v: %s", session, told)
		}
		b.wantBytes("big", want)
		if n := b.count("SELECT max(until) FROM art_origin"); n != 0 {
			t.Errorf("still announced: %d", n)
		}
	}
}

// announcing has a function called before and after a pull announces that it writes into a file.
func announcing(t *testing.T, before, after func()) {
	was := announce
	t.Cleanup(func() { announce = was })
	announce = func(p *puller, a *operation) error {
		before()
		err := was(p, a)
		after()
		return err
	}
}

// Nothing is written into a file before that is announced.
func TestPullInPlaceIsAnnounced(t *testing.T) {
	b := newInPlace(t)
	want := large(b)
	before, err := os.ReadFile(b.path("big"))
	must(t, err)
	announced := 0
	check := func(want bool) func() {
		return func() {
			b.wantBytes("big", before)
			if is := b.count("SELECT max(until) FROM art_origin") > 0; is != want {
				t.Errorf("announced: %v, want %v", is, want)
			}
			announced++
		}
	}
	announcing(t, check(false), check(true))
	b.pull(b.ws)
	b.wantBytes("big", want)
	if announced != 2 {
		t.Errorf("it was announced %d times", announced/2)
	}
}

// What the host writes while that is announced is the host's.
func TestHostWritesAsPullInPlaceBegins(t *testing.T) {
	b := newInPlace(t)
	large(b)
	hosts := []byte(strings.Repeat("h", patchFrom+12345))
	announcing(t, func() {}, func() { b.write("big", string(hosts)) })
	for range 2 {
		if out, told, err := b.run(Pull, b.ws); err == nil {
			t.Errorf("%s%s", out, told)
		}
		b.wantBytes("big", hosts)
		if n := b.count("SELECT max(until) FROM art_origin"); n != 0 {
			t.Error("still announced")
		}
	}
}

// What the host does after the announced time is a change.
func TestPullKilledInPlaceLongAgo(t *testing.T) {
	b := newBench(t)
	large(b)
	b.sql("UPDATE art_origin SET until=1000 WHERE path=CAST('big' AS BLOB)")
	b.write("big", strings.Repeat("z", patchFrom+12345))
	if _, told, err := b.run(Pull, b.ws); !errors.Is(err, ErrConflicts) {
		t.Errorf("%v: %s", err, told)
	}
}

const chunkSize = sqlvfs.DefaultChunkSize
