package sqlvfs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// logOf are the rows of a table, without moments.
func logOf(t *testing.T, path, table string) string {
	t.Helper()
	all := regexp.MustCompile(`(first|last|started|started_nsec|ended_nsec)="\d*" `).ReplaceAllString(dump(t, path, table), "")
	return strings.TrimSpace(regexp.MustCompile(`ended="\d+"`).ReplaceAllString(all, "ended"))
}

// logged runs a store with a session, and closes it.
func logged(t *testing.T, path string, session func(*Store)) {
	t.Helper()
	s := openTest(t, path)
	must(t, s.BeginSession(7, []string{"sh"}))
	session(s)
	must(t, s.Close())
}

// newProcess adds one.
func newProcess(s *Store, argv ...string) int64 {
	return s.AddProcess(Process{PID: 8, Argv: argv, Dir: "/x", Started: Now()})
}

// by runs a step of a process.
func by(t *testing.T, s *Store, process int64, step func(tx *Tx) error) {
	t.Helper()
	must(t, s.Update(func(tx *Tx) error {
		tx.By(process, false)
		return step(tx)
	}))
}

// makes is a step that makes a file in the root.
func makes(t *testing.T, name string) func(*Tx) error {
	return func(tx *Tx) error {
		in, err := tx.New(Attr{Mode: 0o100644, Nlink: 1})
		must(t, err)
		must(t, tx.Link(tx.Root(), name, in))
		must(t, tx.WriteAt(in, []byte(name), 0, Now()))
		tx.Put(in)
		return nil
	}
}

// to runs a step on a file in the root.
func to(name string, step func(tx *Tx, in *Inode) error) func(*Tx) error {
	return func(tx *Tx) error {
		c, _, _, err := tx.Child(tx.Root(), name)
		if err != nil {
			return err
		}
		in, err := tx.Get(c.Ino)
		if err != nil {
			return err
		}
		err = step(tx, in)
		if in.Attr.Nlink == 0 { // else it stays in memory, with content that it may have to be given
			tx.Put(in)
		}
		return err
	}
}

// whoChanged is what is known of changes: of each, the path, what, and whose it is.
func whoChanged(t *testing.T, path, at string) string {
	t.Helper()
	m, err := OpenMoment(path, at)
	must(t, err)
	defer m.Close()
	paths, err := m.Paths()
	must(t, err)
	var lines []string
	must(t, m.Changes(nil, func(c Change) {
		p, err := m.Process(c.Process)
		must(t, err)
		name, there := paths.PathOf(&c)
		if !there {
			name += " (gone)"
		}
		if p == nil {
			t.Errorf("%s: there is no process %d", name, c.Process)
			return
		}
		for i, what := range []string{"made", "written", "attributes", "named", "removed", "mapped"} {
			if c.What&(1<<i) != 0 {
				name += " " + what
			}
		}
		lines = append(lines, fmt.Sprint(c.After, " ", name, " by ", strings.Join(p.Argv, " ")))
		if c.Last.Sec < c.First.Sec || c.First.Sec < p.Started.Sec {
			t.Errorf("%s: from %v to %v by what began at %v", name, c.First, c.Last, p.Started)
		}
	}))
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestWhatAProcessChangesIsInTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	logged(t, path, func(s *Store) {
		p := newProcess(s, "touch", "a")
		by(t, s, p, makes(t, "a"))
		code := 0
		s.EndProcess(p, Now(), &code)
	})
	want := `id="1" session="1" parent="" pid="8" argv="touch\x00a\x00" cut="0" dir="/x" ended exit_code="0"`
	if got := logOf(t, path, "art_process"); got != want {
		t.Errorf("processes:\n%s", got)
	}
	want = `ino="2" checkpoint="0" process="1" parent_ino="1" name="a" what="11"`
	if got := logOf(t, path, "art_change"); got != want {
		t.Errorf("changes:\n%s", got)
	}
	if got, want := whoChanged(t, path, ""), "0 /a made written named by touch a"; got != want {
		t.Errorf("read:\n%s", got)
	}
}

// Each kind of change is noted, with the names that it was of, and nothing else.
func TestEachChangeIsNoted(t *testing.T) {
	host := func(tx *Tx, name string) *Inode { // as a copy-up does
		in, err := tx.New(Attr{Mode: 0o100644, Nlink: 1})
		must(t, err)
		tx.SetOrigin(in, &Origin{Base: "ws", Path: name, Number: 1<<52 + 9})
		must(t, tx.SetXattr(in, "user.host", nil))
		must(t, tx.Link(tx.Root(), name, in))
		return in
	}
	for name, c := range map[string]struct {
		do   func(tx *Tx) error
		want string
	}{
		"made":     {makes(t, "new"), "/new made written named"},
		"nothing":  {func(*Tx) error { return nil }, ""},
		"written":  {to("old", func(tx *Tx, in *Inode) error { return tx.WriteAt(in, []byte("x"), 1, Now()) }), "/old written"},
		"by pages": {to("old", func(tx *Tx, in *Inode) error { tx.By(tx.by, true); return tx.WriteAt(in, []byte("x"), 1, Now()) }), "/old written mapped"},
		"nobody's": {to("old", func(tx *Tx, in *Inode) error { tx.By(0, false); return tx.WriteAt(in, []byte("x"), 1, Now()) }), ""},
		"cut":      {to("old", func(tx *Tx, in *Inode) error { return tx.Truncate(in, 1, Now()) }), "/old written"},
		"zeroed":   {to("old", func(tx *Tx, in *Inode) error { _, err := tx.Zero(in, 0, 2, true, Now()); return err }), "/old written"},
		"mode":     {to("old", func(tx *Tx, in *Inode) error { in.Attr.Mode |= 0o111; tx.ChangedAttributes(in); return nil }), "/old attributes"},
		"accessed": {to("old", func(tx *Tx, in *Inode) error { in.Attr.Atime = Now(); tx.Dirty(in); return nil }), ""},
		"xattr":    {to("old", func(tx *Tx, in *Inode) error { return tx.SetXattr(in, "user.b", []byte("v")) }), "/old attributes"},
		"no xattr": {to("old", func(tx *Tx, in *Inode) error { return tx.RemoveXattr(in, "user.a") }), "/old attributes"},
		"linked":   {to("old", func(tx *Tx, in *Inode) error { in.Attr.Nlink++; return tx.Link(tx.Root(), "too", in) }), "/too named"},
		"renamed": {to("old", func(tx *Tx, in *Inode) error {
			must(t, tx.Unlink(tx.Root(), "old"))
			return tx.Link(tx.Root(), "is", in)
		}), "/is named; /old (gone) removed"},
		"removed": {to("old", func(tx *Tx, in *Inode) error {
			in.Attr.Nlink--
			tx.Dirty(in)
			return tx.Unlink(tx.Root(), "old")
		}), "/old (gone) removed"},
		"hidden":    {func(tx *Tx) error { return tx.SetWhiteout(tx.Root(), "host") }, "/host (gone) removed"},
		"copied up": {func(tx *Tx) error { tx.Put(host(tx, "host")); return nil }, ""},
		"copied up and changed": {func(tx *Tx) error {
			in := host(tx, "host")
			defer tx.Put(in)
			return tx.WriteAt(in, []byte("x"), 0, Now())
		}, "/host written"},
		"copied up and renamed": {func(tx *Tx) error {
			in := host(tx, "host")
			defer tx.Put(in)
			must(t, tx.Unlink(tx.Root(), "host"))
			must(t, tx.SetWhiteout(tx.Root(), "host"))
			return tx.Link(tx.Root(), "is", in)
		}, "/host (gone) removed; /is named"},
		"without a name": {func(tx *Tx) error {
			in, err := tx.New(Attr{Mode: 0o100644})
			must(t, err)
			must(t, tx.WriteAt(in, []byte("x"), 0, Now()))
			tx.Put(in)
			return nil
		}, ""},
		"come and gone": {func(tx *Tx) error {
			must(t, makes(t, "tmp")(tx))
			return to("tmp", func(tx *Tx, in *Inode) error {
				in.Attr.Nlink = 0
				tx.Dirty(in)
				return tx.Unlink(tx.Root(), "tmp")
			})(tx)
		}, ""},
		"written aside and put in its place": {func(tx *Tx) error {
			must(t, makes(t, "tmp")(tx))
			return to("tmp", func(tx *Tx, in *Inode) error {
				must(t, tx.Unlink(tx.Root(), "tmp"))
				must(t, tx.Unlink(tx.Root(), "old"))
				return tx.Link(tx.Root(), "old", in)
			})(tx)
		}, "/old (gone) removed; /old made written named"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			s := openTest(t, path)
			must(t, s.Update(makes(t, "old")))
			must(t, s.Update(to("old", func(tx *Tx, in *Inode) error { return tx.SetXattr(in, "user.a", []byte("v")) })))
			must(t, s.Close())
			logged(t, path, func(s *Store) { by(t, s, newProcess(s, "x"), c.do) })
			if got := strings.NewReplacer("0 /", "/", " by x", "", "\n", "; ").Replace(whoChanged(t, path, "")); got != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
		})
	}
}

// Changes lie between the checkpoint before them and the next, and there is one row of a process and an inode there, however often it writes.
func TestChangesLieBetweenCheckpoints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	logged(t, path, func(s *Store) {
		a, b := newProcess(s, "a"), newProcess(s, "b")
		by(t, s, a, makes(t, "file"))
		for i := range 3 {
			_, err := s.Checkpoint(ByUser, "")
			must(t, err)
			for range 2 {
				for _, p := range []int64{a, b} {
					by(t, s, p, to("file", func(tx *Tx, in *Inode) error { return tx.WriteAt(in, []byte{byte(i)}, 0, Now()) }))
				}
				must(t, s.Sync())
			}
		}
		must(t, s.Update(to("file", func(tx *Tx, in *Inode) error { return tx.WriteAt(in, []byte("nobody's"), 0, Now()) })))
	})
	all := "0 /file made written named by a\n1 /file written by a\n1 /file written by b\n2 /file written by a\n2 /file written by b\n3 /file written by a\n3 /file written by b"
	if got := whoChanged(t, path, ""); got != all {
		t.Errorf("now:\n%s", got)
	}
	if got := whoChanged(t, path, "2"); got != all[:strings.Index(all, "\n2 ")] {
		t.Errorf("at checkpoint 2:\n%s", got)
	}
	m, err := OpenMoment(path, "")
	must(t, err)
	defer m.Close()
	list, err := m.ChangesOf(2)
	must(t, err)
	if len(list) != 7 || list[0].What != Made|Written|Named || list[6].After != 3 {
		t.Errorf("of the inode: %v", list)
	}
}

// Who writes a file after another has changed it is the last, though the moment is from a clock that ticks, and so may be the earlier one.
func TestTheLastToWriteIsTheLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	logged(t, path, func(s *Store) {
		for _, argv := range []string{"sh", "git", "sh"} {
			p := newProcess(s, argv)
			if argv == "sh" && p == 1 {
				by(t, s, p, makes(t, "file"))
				continue
			}
			by(t, s, p, to("file", func(tx *Tx, in *Inode) error {
				tick := Now()
				tick.Sec--
				return tx.WriteAt(in, []byte(argv), 0, tick)
			}))
		}
	})
	m, err := OpenMoment(path, "")
	must(t, err)
	defer m.Close()
	list, err := m.ChangesOf(2)
	must(t, err)
	slices.SortFunc(list, func(a, b Change) int { return int(nanoseconds(a.Last) - nanoseconds(b.Last)) })
	if len(list) != 3 || list[0].Process != 1 || list[1].Process != 2 || list[2].Process != 3 || list[1].Last == list[2].Last {
		t.Errorf("%+v", list)
	}
}

// Going back is nobody's, and so is what comes of it.
func TestGoingBackIsNobodys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	logged(t, path, func(s *Store) {
		by(t, s, newProcess(s, "a"), makes(t, "file"))
		_, err := s.Checkpoint(ByUser, "")
		must(t, err)
		by(t, s, newProcess(s, "b"), makes(t, "other"))
		must(t, s.Sync())
		_, err = s.GoBack(To("1"), nil)
		must(t, err)
	})
	if got, want := whoChanged(t, path, ""), "0 /file made written named by a\n1 /other (gone) made written named by b"; got != want {
		t.Errorf("%s", got)
	}
}

// What the disk does not take is written when it does.
func TestChangesOfACommitThatFails(t *testing.T) {
	s, d := failing(t)
	p := newProcess(s, "a")
	d.failWith(only(wrote, syscall.ENOSPC))
	by(t, s, p, makes(t, "file"))
	if err := s.Sync(); err == nil {
		t.Fatal("the disk takes it")
	}
	s.EndProcess(p, Now(), nil)
	d.failWith(nil)
	for s.Sync() != nil {
		time.Sleep(time.Millisecond)
	}
	awaitLog(t, s, "art_process WHERE ended IS NOT NULL")
	awaitLog(t, s, "art_change WHERE what=11")
	must(t, s.Close())
}

// awaitLog waits until there is a row.
func awaitLog(t *testing.T, s *Store, rows string) {
	t.Helper()
	table, _, _ := strings.Cut(rows, " ")
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		n, err := Query(s, func(tx *Tx) (int64, error) {
			if there, err := database.Has(tx.meta.Conn, table); err != nil || !there {
				return 0, err
			}
			return queryNumber(tx.meta, "SELECT count(*) FROM "+rows)
		})
		must(t, err)
		if n == 1 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("there are %d of %s", n, rows)
		}
	}
}

// Who has all made durable again and again waits for no log: that is left to a later batch, but not for longer than other changes are.
func TestLogWaitsWhereOthersDoNot(t *testing.T) {
	h := defaults
	h.linger = time.Hour
	s, err := openStore(filepath.Join(t.TempDir(), "a.db"), Options{Create: true, Root: rootAttr}, h)
	must(t, err)
	defer s.Close()
	by(t, s, newProcess(s, "sh"), func(tx *Tx) error { // the writer takes nothing meanwhile
		must(t, makes(t, "file")(tx))
		take := func(late bool) int {
			b := &batch{late: late, noted: tx.gather.noted}
			tx.gather.noted = nil
			tx.takeLog(b)
			n := len(b.noted)
			tx.gather.noted = append(tx.gather.noted, b.noted...)
			return n
		}
		if n := take(true); n != 0 {
			t.Errorf("%d notes at once", n)
		}
		tx.lateFrom = tx.lateFrom.Add(-2 * h.linger)
		if n := take(true); n != 1 {
			t.Errorf("%d notes when they have waited for long", n)
		}
		if n := take(false); n != 1 {
			t.Errorf("%d notes in a batch that nobody waits for", n)
		}
		return nil
	})
}

// The log comes a little later, also if nothing else does.
func TestLogComesByItself(t *testing.T) {
	logged(t, filepath.Join(t.TempDir(), "a.db"), func(s *Store) {
		by(t, s, newProcess(s, "sh"), makes(t, "file"))
		must(t, s.Sync())
		awaitLog(t, s, "art_change WHERE name='file'")
	})
}

// A fork has a log of its own, and goes on with its parent's until it was forked.
func TestForkReadsItsParentsLog(t *testing.T) {
	dir := t.TempDir()
	parent, fork, secret := filepath.Join(dir, "parent.db"), filepath.Join(dir, "fork.db"), NewSecret()
	logged(t, parent, func(s *Store) {
		by(t, s, newProcess(s, "before"), makes(t, "file"))
		c, err := s.AddFork(fork, secret, "")
		must(t, err)
		must(t, MakeFork(parent, fork, secret, c))
		by(t, s, newProcess(s, "after"), makes(t, "other"))
	})
	if got := dump(t, fork, "sqlite_schema"); strings.Contains(got, "art_process") {
		t.Errorf("a fork begins with\n%s", got)
	}
	if got, want := whoChanged(t, fork, ""), "0 /file made written named by before"; got != want {
		t.Errorf("the fork has %q", got)
	}
	logged(t, fork, func(s *Store) {
		by(t, s, newProcess(s, "within"), to("file", func(tx *Tx, in *Inode) error { return tx.WriteAt(in, []byte("x"), 0, Now()) }))
	})
	if got, want := whoChanged(t, fork, ""), "0 /file made written named by before\n0 /file written by within"; got != want {
		t.Errorf("then it has %q", got)
	}
	m, err := OpenMoment(fork, "")
	must(t, err)
	defer m.Close()
	all, err := m.Processes(0)
	must(t, err)
	own, err := m.Processes(1)
	must(t, err)
	if len(all) != 2 || all[0].Argv[0] != "before" || all[0].Layer != 1 || len(own) != 1 || own[0].Argv[0] != "within" || all[0].ID == own[0].ID {
		t.Errorf("all: %v, its own: %v", all, own)
	}
}

// Processes that have changed nothing are forgotten when they are too many, the first to end first; one that runs, or has changed
// something, is not.
func TestTooManyProcessesThatChangeNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	logged(t, path, func(s *Store) {
		running, changes := newProcess(s, "runs"), newProcess(s, "changes")
		by(t, s, changes, makes(t, "file"))
		s.EndProcess(changes, Now(), nil)
		for range 3 {
			for range maxQuiet / 2 {
				s.EndProcess(newProcess(s, "quiet"), Now(), nil)
			}
			must(t, s.Freeze(func() {}))
			by(t, s, running, makes(t, "x"))
			must(t, s.Reduce(to("x", func(tx *Tx, in *Inode) error { in.Attr.Nlink = 0; tx.Dirty(in); return tx.Unlink(tx.Root(), "x") })))
			must(t, s.Freeze(func() {}))
		}
	})
	m, err := OpenMoment(path, "")
	must(t, err)
	defer m.Close()
	list, err := m.Processes(1)
	must(t, err)
	if len(list) != maxQuiet+2 || list[0].Argv[0] != "runs" || list[1].Argv[0] != "changes" || list[2].ID != 3+maxQuiet/2 {
		t.Errorf("there are %d, of which the third is %d", len(list), list[2].ID)
	}
}

// Of what is older than all checkpoints, what later changes have covered goes, and what is of inodes that are nowhere.
func TestThinTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	write := to("file", func(tx *Tx, in *Inode) error { return tx.WriteAt(in, []byte("x"), 0, Now()) })
	logged(t, path, func(s *Store) {
		by(t, s, newProcess(s, "makes"), makes(t, "file"))
		by(t, s, newProcess(s, "makes gone"), makes(t, "gone"))
		must(t, s.Sync())
		for i := range 4 {
			if i == 2 {
				by(t, s, newProcess(s, "removes"), to("gone", func(tx *Tx, in *Inode) error { in.Attr.Nlink = 0; tx.Dirty(in); return tx.Unlink(tx.Root(), "gone") }))
			}
			time.Sleep(10 * time.Millisecond) // the clock's tick
			by(t, s, newProcess(s, fmt.Sprint("writes", i)), write)
			_, err := s.Checkpoint(ByUser, "")
			must(t, err)
		}
		newProcess(s, "quiet")
	})
	alter(t, path, "UPDATE art_process SET started=started-7200, ended=started-7200, ended_nsec=0; UPDATE art_checkpoint SET made=made-7200")
	s, err := Open(path, Options{})
	must(t, err)
	_, err = s.Thin(Keep{Checkpoints: 1, For: time.Hour})
	must(t, err)
	s.writer.logThinned = time.Time{}
	_, err = s.Thin(Keep{Checkpoints: 1, For: time.Hour})
	must(t, err)
	must(t, s.Close())
	if got, want := whoChanged(t, path, ""), "0 /file made written named by makes\n3 /file written by writes3"; got != want {
		t.Errorf("what stays is\n%s", got)
	}
	if got := logOf(t, path, "art_process"); strings.Count(got, "\n") != 1 {
		t.Errorf("processes:\n%s", got)
	}
}

// However many there are, so many stay.
func TestTheLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	logged(t, path, func(s *Store) {
		for i := range 20 {
			p := newProcess(s, fmt.Sprint(i))
			if i < 10 {
				by(t, s, p, makes(t, fmt.Sprint(i)))
			}
			s.EndProcess(p, Now(), nil)
			time.Sleep(10 * time.Millisecond)
		}
	})
	s, err := Open(path, Options{})
	must(t, err)
	must(t, s.unsynced(func(w *writer) error {
		must(t, w.thinChanges(0, 5))
		return w.thinProcesses(&Keep{}, true, 5)
	}))
	must(t, s.Close())
	if got := strings.Count(logOf(t, path, "art_change"), "\n") + 1; got != 5 {
		t.Errorf("there are %d changes", got)
	}
	if got := dump(t, path, "fs_config"); !strings.Contains(got, `key="art_thinned" value="15"`) {
		t.Errorf("of what was dropped it says %s", got)
	}
	if got := logOf(t, path, "art_process"); strings.Count(got, "\n")+1 != 10 || !strings.Contains(got, `id="6"`) || strings.Contains(got, `id="11"`) {
		t.Errorf("there are\n%s", got)
	}
}

// What is too long is cut, and said to be.
func TestLongCommandLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	long := strings.Repeat("x", maxProcessText-4)
	logged(t, path, func(s *Store) {
		newProcess(s, "a", long)
		newProcess(s, "ab", long)
		newProcess(s, "abcd", long, "more")
		s.AddProcess(Process{Dir: long + "xxxxx"})
		s.AddProcess(Process{Argv: []string{"x"}, Parent: 99, PID: -1, Code: new(int)})
	})
	m, err := OpenMoment(path, "")
	must(t, err)
	defer m.Close()
	list, err := m.Processes(0)
	must(t, err)
	got := ""
	for _, p := range list {
		got += fmt.Sprint(len(strings.Join(p.Argv, "\x00")), len(p.Dir), p.Cut, p.Parent, p.PID, "; ")
	}
	if want := "4094 2 false 0 8; 4095 2 false 0 8; 4095 2 true 0 8; 0 4096 true 0 0; 1 0 false 0 0; "; got != want {
		t.Errorf("%s", got)
	}
}

// Whatever another program has written there is read within bounds, found by the check, and repaired.
func TestHostileLogOfProcesses(t *testing.T) {
	path := sample(t)
	alter(t, path, database.WhenNeeded["art_process"]+";"+database.WhenNeeded["art_change"]+`;
		INSERT INTO art_process (id, session, parent, pid, argv, cut, dir, started, started_nsec, exit_code) VALUES
			(1, 1, NULL, 8, CAST('true' || x'00' AS BLOB), 0, NULL, 1, 1, NULL), (2, 'x', 9, 1<<40, zeroblob(1000000), 7, zeroblob(1000000), 'y', -5, 1<<40),
			((1<<48)-1, 1, NULL, 8, x'', 0, NULL, 1, 1, NULL), (1<<60, 1, NULL, 8, x'', 0, NULL, 1, 1, NULL), (-1, 1, NULL, 8, x'', 0, NULL, 1, 1, NULL),
			(3, 1, NULL, 8, x'', 0, NULL, 900000000000000, 1, NULL), (4, 1, NULL, 8, zeroblob(120000000), 0, NULL, 900000000000000, 1, NULL);
		INSERT INTO art_change VALUES (2, 0, 1, 0, '', 2, 1, 2), (2, 0, 7, 0, '', 2, 1, 2), (2, 'x', 1, 0, '', 2, 1, 2), (2, 1, 1, 1, '../x', 8, 1, 2), (2, 1, 1, 1, zeroblob(100000), 8, 1, 2),
			(2, 2, 1, 0, '', 64, 1, 2), (1<<60, 2, 1, 0, '', 2, 1, 2), (2, 2, 1, 1<<60, 'a', 8, 1, 2), (3, 2, 1, 0, '', 8, 1, 2), (2, 1<<60, 1, 0, '', 2, -1<<62, 1<<62)`)
	m, err := OpenMoment(path, "")
	must(t, err)
	list, err := m.Processes(0)
	must(t, err)
	if len(list) != 2 || list[0].Argv[0] != "true" || list[1].ID != MaxProcessID {
		t.Errorf("there are %v", list)
	}
	n := 0
	must(t, m.Changes(nil, func(c Change) { n++ }))
	if n != 2 { // whose process there is, it does not ask
		t.Errorf("there are %d changes", n)
	}
	_, err = m.Paths()
	must(t, err)
	must(t, m.Close())
	s := openTest(t, path)
	if id := newProcess(s, "x"); id != 0 {
		t.Errorf("a process has the number %d", id)
	}
	must(t, s.Close())
	got := findings(t, path)
	if strings.Count(got, "process") != 13 || strings.Contains(got, "process 1 of the log") {
		t.Errorf("the check finds %s", got)
	}
}

// Who starts processes waits for no step, and the same memory is touched by none at once.
func TestProcessesComeWhileStepsRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	logged(t, path, func(s *Store) {
		must(t, s.View(func(*Tx) error {
			s.EndProcess(newProcess(s, "within a step"), Now(), nil)
			return nil
		}))
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for j := range 200 {
					p := newProcess(s, fmt.Sprint(i))
					by(t, s, p, makes(t, fmt.Sprint(i, j)))
					s.EndProcess(p, Now(), nil)
				}
			})
		}
		all.Wait()
	})
	if got := strings.Count(whoChanged(t, path, ""), "\n") + 1; got != 800 {
		t.Errorf("%d changes have their process", got)
	}
}
