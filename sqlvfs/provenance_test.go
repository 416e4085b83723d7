package sqlvfs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// logOf are the rows of a table, without moments.
func logOf(t *testing.T, path, table string) string {
	t.Helper()
	all := regexp.MustCompile(`(first|last|started|started_nsec|ended_nsec)="\d*" `).ReplaceAllString(dump(t, path, table), "")
	return strings.TrimSpace(regexp.MustCompile(`ended="\d+"`).ReplaceAllString(all, "ended"))
}

func TestWhatAProcessChangesIsInTheLog(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	must(t, s.BeginSession(7, []string{"sh"}))
	p := s.AddProcess(Process{PID: 8, Argv: []string{"touch", "a"}, Dir: "/x", Started: Now()})
	must(t, s.Update(func(tx *Tx) error {
		tx.By(p, false)
		in, err := tx.New(Attr{Mode: 0o100644, Nlink: 1})
		must(t, err)
		must(t, tx.Link(tx.Root(), "a", in))
		must(t, tx.WriteAt(in, []byte("x"), 0, Now()))
		tx.Put(in)
		return nil
	}))
	code := 0
	s.EndProcess(p, Now(), &code)
	path := s.Path()
	must(t, s.Close())
	want := `id="1" session="1" parent="" pid="8" argv="touch\x00a\x00" cut="0" dir="/x" ended exit_code="0"`
	if got := logOf(t, path, "art_process"); got != want {
		t.Errorf("processes:\n%s", got)
	}
	want = `ino="2" checkpoint="0" process="1" parent_ino="1" name="a" what="11"`
	if got := logOf(t, path, "art_change"); got != want {
		t.Errorf("changes:\n%s", got)
	}
}
