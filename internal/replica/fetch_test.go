package replica

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

// orphan makes a copy whose session has died, with a lease of so many seconds, and removes its database.
func orphan(t *testing.T, dir string, seconds int) {
	t.Helper()
	database := filepath.Join(t.TempDir(), "a.db")
	s, err := sqlvfs.Open(database, sqlvfs.Options{Create: true, Root: sqlvfs.NewRoot(), Replicated: true})
	must(t, err)
	cmd := exec.Command(os.Args[0], "copy", database, dir, "1000000000")
	stdin, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	add := func(name string) {
		t.Helper()
		must(t, s.Update(func(tx *sqlvfs.Tx) error {
			in, err := tx.New(sqlvfs.Attr{Mode: syscall.S_IFREG | 0o600, Nlink: 1})
			if err != nil {
				return err
			}
			return tx.Link(tx.Root(), name, in)
		}))
		must(t, s.Sync())
	}
	copies := func() int {
		all, _ := filepath.Glob(filepath.Join(dir, "generation-*/ltx/0/*.ltx"))
		return len(all)
	}
	for i, name := range []string{"first", "second"} {
		add(name)
		for end := time.Now().Add(30 * time.Second); copies() < i+1; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("there is no copy")
			}
		}
	}
	must(t, s.Close())
	must(t, stdin.Close())
	must(t, cmd.Wait())
	place, err := open(t.Context(), "file://"+dir)
	must(t, err)
	head, tag, err := readHead(t.Context(), place.own)
	must(t, err)
	head.State, head.Last, head.Lease.Ended, head.Lease.Machine, head.Lease.Seconds = Running, "", false, "another", seconds
	data, err := json.Marshal(head)
	must(t, err)
	_, err = place.own.swap(t.Context(), headName, data, tag)
	must(t, err)
}

// names are those in the root directory of a database.
func names(t *testing.T, path string) (all []string) {
	t.Helper()
	s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
	must(t, err)
	defer s.Close()
	must(t, s.View(func(tx *sqlvfs.Tx) error {
		for _, name := range []string{"first", "second"} {
			if child, _, _, err := tx.Child(tx.Root(), name); err != nil {
				return err
			} else if child.Ino != 0 {
				all = append(all, name)
			}
		}
		return nil
	}))
	return all
}

// A copy is brought back while its lease runs out. What arrives there meanwhile is not missed.
func TestFetchAhead(t *testing.T) {
	for _, late := range []bool{false, true} {
		dir, path := t.TempDir(), filepath.Join(t.TempDir(), "b.db")
		orphan(t, dir, 3)
		all, _ := filepath.Glob(filepath.Join(dir, "generation-*/ltx/0/*.ltx"))
		last := all[len(all)-1]
		if late {
			must(t, os.Rename(last, last+"-late"))
		}
		var ahead os.FileInfo
		done := make(chan struct{})
		looked := make(chan struct{})
		wait := func(string) {
			go func() {
				defer close(looked)
				for ahead == nil {
					select {
					case <-done:
						return
					case <-time.After(5 * time.Millisecond):
						if f, err := os.Open(path + ".fetched"); err == nil {
							defer f.Close() // at the end, so that no later file has its number
							ahead, _ = f.Stat()
						}
					}
				}
				if late {
					_ = os.Rename(last+"-late", last)
				}
				<-done
			}()
		}
		found, _, err := Fetch(t.Context(), "file://"+dir, path, t.TempDir(), "u", false, wait, nil)
		close(done)
		must(t, err)
		<-looked
		if ahead == nil {
			t.Fatal("nothing was brought back before the lease had run out")
		}
		is, err := os.Lstat(path)
		must(t, err)
		if found != Brought || os.SameFile(is, ahead) == late {
			t.Errorf("late %v: found %v, and the database is what was brought back early: %v", late, found, os.SameFile(is, ahead))
		}
		if got := names(t, path); len(got) != 2 {
			t.Errorf("late %v: it has %v", late, got)
		}
		if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// Two that bring a copy back at once do not touch each other's: one does it, the other is told.
func TestFetchAtOnce(t *testing.T) {
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "b.db")
	orphan(t, dir, 2)
	var second error
	found, _, err := Fetch(t.Context(), "file://"+dir, path, t.TempDir(), "u", false, func(string) {
		_, _, second = Fetch(t.Context(), "file://"+dir, path, t.TempDir(), "v", false, func(string) {}, nil)
	}, nil)
	must(t, err)
	if got := names(t, path); found != Brought || len(got) != 2 {
		t.Errorf("found %v, with %v", found, got)
	}
	if second == nil || second.Error() != "another session is bringing the copy back here" {
		t.Errorf("the second one: %v", second)
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A session that lives is taken over. What it has copied after that is no part of what goes on, and does not keep anybody from it.
func TestTakeOver(t *testing.T) {
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "b.db")
	orphan(t, dir, 30)
	all, _ := filepath.Glob(filepath.Join(dir, "generation-*/ltx/0/*.ltx"))
	last := all[len(all)-1]
	must(t, os.Rename(last, last+"-late"))
	found, _, err := Fetch(t.Context(), "file://"+dir, path, t.TempDir(), "u", true, func(string) {}, nil)
	must(t, err)
	if got := names(t, path); found != Brought || len(got) != 1 {
		t.Fatalf("found %v, with %v", found, got)
	}
	must(t, os.Rename(last+"-late", last))
	same := func(when string) {
		t.Helper()
		copied, err := Find(t.Context(), "file://"+dir)
		must(t, err)
		back := filepath.Join(t.TempDir(), "back.db")
		must(t, copied.Restore(t.Context(), back, time.Time{}))
		if got := names(t, back); len(got) != 1 {
			t.Errorf("%s, the copy has %v", when, got)
		}
	}
	same("taken over")
	place, err := open(t.Context(), "file://"+dir)
	must(t, err)
	who := claimant{lease: Lease{Token: "u"}}
	who.mine, who.continues, err = identify(path, "")
	must(t, err)
	tenure, err := who.claim(t.Context(), place)
	must(t, err)
	same("begun")
	must(t, tenure.end(t.Context(), func(*Head) {}))
	// Elsewhere again, and again, without a session that writes.
	for range mostBases + 2 {
		other := filepath.Join(t.TempDir(), "c.db")
		if found, _, err := Fetch(t.Context(), "file://"+dir, other, t.TempDir(), "v", true, func(string) {}, nil); found != Brought || err != nil {
			t.Fatalf("found %v, %v", found, err)
		}
		if got := names(t, other); len(got) != 1 {
			t.Errorf("brought back again, it has %v", got)
		}
	}
}

// racing are objects that somebody else changes a number of times, each just before a swap.
type racing struct {
	objects
	times int
}

func (r *racing) swap(ctx context.Context, name string, data []byte, tag string) (string, error) {
	if r.times--; r.times >= 0 {
		head, now, err := readHead(ctx, r.objects)
		if err != nil {
			return "", err
		}
		if _, err := r.objects.swap(ctx, name, head.next().marshal(), now); err != nil {
			return "", err
		}
	}
	return r.objects.swap(ctx, name, data, tag)
}

// Who is overtaken by another session looks again who that is, and not for ever.
func TestRace(t *testing.T) {
	dir := t.TempDir()
	place, err := open(t.Context(), "file://"+dir)
	must(t, err)
	head := &Head{Format: headFormat, ID: "x", Place: "y"}
	_, err = place.own.swap(t.Context(), headName, head.marshal(), "")
	must(t, err)
	for times, want := range map[int]error{1: nil, 1000: errRace} {
		who := claimant{lease: Lease{Token: "u"}}
		if _, err := who.await(t.Context(), &store{&racing{place.own, times}, place.client}, func(string) {}); !errors.Is(err, want) {
			t.Errorf("overtaken %d times: %v", times, err)
		}
	}
}
