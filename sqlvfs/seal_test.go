package sqlvfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/sqlvfs/internal/dbtest"
)

// sealedSessionOf runs a session in which two processes make a file each, and ends it unless it is killed.
func sealedSessionOf(t *testing.T, path, name string, killed bool) {
	t.Helper()
	s := openTest(t, path)
	must(t, s.BeginSession(7, []string{"sh"}))
	for i := range 2 {
		p := newProcess(s, "cc", name)
		by(t, s, p, makes(t, fmt.Sprint(name, i)))
		code := i
		s.EndProcess(p, Now(), &code)
	}
	_, err := s.Checkpoint(ByUser, name)
	must(t, err)
	if !killed {
		code := 0
		must(t, s.EndSession(&code, ""))
	}
	must(t, s.Close())
}

func verified(t *testing.T, path string) *Verified {
	t.Helper()
	m, err := OpenMoment(path, "")
	must(t, err)
	defer m.Close()
	v, err := m.Verify()
	must(t, err)
	return v
}

func TestSeals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	must(t, openTest(t, path).Close())
	if v := verified(t, path); v.Seals != 0 || !v.Sound() {
		t.Errorf("without a session: %+v", v)
	}
	sealedSessionOf(t, path, "a", false)
	first := verified(t, path)
	if !first.Sound() || first.Seals != 1 || first.Records != 6 || first.Gone != 0 { // a session, two processes, two changes, a checkpoint
		t.Errorf("after one: %+v", first)
	}
	sealedSessionOf(t, path, "b", true)
	sealedSessionOf(t, path, "c", false)
	last := verified(t, path)
	if !last.Sound() || last.Seals != 2 || last.Records != 12 || len(last.Unsealed) != 1 || last.Unsealed[0] != 2 || !last.Has(first.Head) || last.Head == first.Head {
		t.Errorf("after three, of which one was killed: %+v", last)
	}
	if last.Has(Hash{1}) {
		t.Error("it has any hash")
	}

	for _, c := range []struct{ what, sql, want string }{
		{"an exit code", "UPDATE art_session SET exit_code=1 WHERE id=1", "session 1 is not in the log as it was sealed"},
		{"no session", "DELETE FROM art_session WHERE id=1", "session 1 is not in the log"},
		{"a command line", "UPDATE art_process SET argv=CAST('ls' AS BLOB) WHERE id=2", "process 2 of session 1 is not as it was sealed"},
		{"one more process", "INSERT INTO art_process (id, session, argv, cut, started, started_nsec) VALUES (1000, 1, x'61', 0, 1, 1)", "process 1000 of session 1 is not"},
		{"whose a change is", "UPDATE art_change SET process=1 WHERE process=2", "a change by process 1 of session 1 is not"},
		{"a change to no process", "DELETE FROM art_process WHERE id=2", "1 changes are by processes that are not in the log"},
		{"no process", "DELETE FROM art_change WHERE process=1; DELETE FROM art_process WHERE id=1", "1 processes of session 1 are gone"},
		{"a process to no session", "UPDATE art_process SET session=0 WHERE id=2", "1 processes of session 1 are gone"},
		{"a process of no session within one", "INSERT INTO art_process (id, session, argv, cut, started, started_nsec) VALUES (1000, 3, x'61', 0, 1, 1); UPDATE art_process SET session=0 WHERE id=6",
			"1 processes before process 1000 are of no session, and ran in session 3"},
		{"a process of no session that there is", "INSERT INTO art_process (id, session, argv, cut, started, started_nsec) VALUES (1000, 9, x'61', 0, 1, 1)", "process 1000 is of session 9, which is not in the log"},
		{"a process of a session that was killed", "INSERT INTO art_process (id, session, argv, cut, started, started_nsec) VALUES (1000, 2, x'61', 0, 1, 1)",
			"process 1000 is of session 2, and came after those of session 3"},
		{"when a change was", "INSERT INTO art_checkpoint SELECT 9, made, made_nsec, kind, NULL, session, max_ino, restored, redo FROM art_checkpoint WHERE id=3; UPDATE art_change SET checkpoint=3 WHERE process=3",
			"1 changes are by processes of another session than the one that ran then"},
		{"a recent change", "DELETE FROM art_change WHERE process=6", "1 changes of session 3 are gone"},
		{"a checkpoint's time", "UPDATE art_checkpoint SET made=made+1 WHERE id=1", "checkpoint 1 of session 1 is not"},
		{"a seal", "UPDATE art_seal SET made=made+1 WHERE id=1", "the seal of session 1 has been changed"},
		{"a seal's digests", "UPDATE art_seal SET digests=x'' WHERE id=1", "the seal of session 1 has been changed"},
		{"no first seal", "DELETE FROM art_seal WHERE id=1; UPDATE art_seal SET id=1", "the seal of session 3"},
		{"the first seal is gone", "DELETE FROM art_seal WHERE id=1", "the seals before that of session 3 are gone"},
		{"another seal before", "UPDATE art_seal SET previous=zeroblob(32) WHERE id=2", "the seal of session 3"},
	} {
		copied := filepath.Join(t.TempDir(), "b.db")
		must(t, os.WriteFile(copied, []byte(bytesOf(t, path)), 0o600))
		dbtest.Alter(t, copied, c.sql)
		v := verified(t, copied)
		if got := strings.Join(v.Differs, "\n"); v.Sound() || !strings.Contains(got, c.want) {
			t.Errorf("%s: it says %q, not %q", c.what, got, c.want)
		}
	}
	// What history drops leaves the rest sound: processes that have changed nothing that is known any more, old checkpoints, and changes
	// from before these.
	dbtest.Alter(t, path, "DELETE FROM art_checkpoint WHERE id<3; DELETE FROM art_change WHERE checkpoint<3 AND process=1; DELETE FROM art_process WHERE id=1; INSERT INTO fs_config VALUES ('art_thinned', '1')")
	if v := verified(t, path); !v.Sound() || v.Gone < 3 {
		t.Errorf("thinned: %+v", v)
	}
	// Of what is said to be of no session it is told that no seal speaks of it.
	dbtest.Alter(t, path, "INSERT INTO art_process (id, session, argv, cut, started, started_nsec) VALUES (1000, 0, x'61', 0, 1, 1)")
	if v := verified(t, path); !v.Sound() || v.Nobodys != 1 {
		t.Errorf("of no session: %+v", v)
	}
	// A label is the user's to change.
	dbtest.Alter(t, path, "UPDATE art_checkpoint SET label='other'")
	if v := verified(t, path); !v.Sound() {
		t.Errorf("another label: %+v", v)
	}
}

// Checkpoints from before a session is in the log are its own, and sealed as such; those from before it began are not.
func TestCheckpointsOfASessionThatIsNotInTheLogYet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	must(t, s.Update(makes(t, "before")))
	_, err := s.Checkpoint(BeforePush, "")
	must(t, err)
	must(t, s.Close())
	s = openTest(t, path)
	for i := range 2 {
		must(t, s.Update(makes(t, fmt.Sprint(i))))
		_, err := s.Checkpoint(ByUser, "")
		must(t, err)
		if i == 0 {
			must(t, s.BeginSession(7, []string{"sh"}))
		}
	}
	list, err := s.Checkpoints()
	must(t, err)
	if len(list) != 3 || list[0].Session != 1 || list[1].Session != 1 || list[2].Session != 0 {
		t.Errorf("%+v", list)
	}
	must(t, s.EndSession(new(int), ""))
	must(t, s.Close())
	dbtest.Alter(t, path, "UPDATE art_checkpoint SET made=made-3600 WHERE id=2")
	if v := verified(t, path); v.Sound() || v.Differs[0] != "checkpoint 2 of session 1 is not as it was sealed" {
		t.Errorf("%+v", v)
	}
}
