package sqlvfs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/riverlytech/art/sqlvfs/internal/dbtest"
)

// callsIn are the rows of tool_calls, without their times.
func callsIn(t *testing.T, path string) string {
	t.Helper()
	all := regexp.MustCompile(`(id|started_at|completed_at|duration_ms)="\d+" ?`).ReplaceAllString(dump(t, path, "tool_calls"), "")
	return strings.TrimSpace(strings.ReplaceAll(all, " \n", "\n"))
}

// The format's table of calls has the session's command and what that has started, once each has ended, and nothing below that.
func TestCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	start := func(s *Store, pid int, parent int64, argv ...string) int64 {
		return s.AddProcess(Process{PID: pid, Parent: parent, Argv: argv, Dir: "/d", Started: Now()})
	}
	code := func(n int) *int { return &n }
	logged(t, path, func(s *Store) {
		sh := start(s, 7, 0, "sh", "-c", "exec agent")
		s.EndProcess(sh, Now(), nil)
		agent := start(s, 7, sh, "agent")
		good := start(s, 8, agent, "bash", "-c", "make \xff")
		below := start(s, 9, good, "make")
		s.EndProcess(below, Now(), code(0))
		s.EndProcess(good, Now(), code(0))
		by(t, s, agent, makes(t, "x"))
		_, err := s.Checkpoint(ByUser, "") // what is there is written; the rest comes later
		must(t, err)
		bad := start(s, 10, agent, "bash", "-c", "exec false")
		s.EndProcess(bad, Now(), nil)
		s.EndProcess(start(s, 10, bad, "false"), Now(), code(1))
		lost := start(s, 11, agent, "lost")
		s.EndProcess(lost, Now(), nil)
		start(s, 12, agent, "sleep")
		s.EndProcess(agent, Now(), code(0))
	})
	want := []string{
		call(`{\"exit_code\":0}`, "", "success", 3, `\"bash\",\"-c\",\"make �\"`),
		call("", "exit code 1", "error", 6, `\"false\"`),
		call("", "it is not known how it has ended", "error", 7, `\"lost\"`),
		call(`{\"exit_code\":0}`, "", "success", 2, `\"agent\"`),
	}
	if got := callsIn(t, path); got != strings.Join(want, "\n") {
		t.Errorf("it has\n%s\nnot\n%s", got, strings.Join(want, "\n"))
	}

	// There are so many of a session, and so many in all; those of others stay.
	dbtest.Alter(t, path, `INSERT INTO tool_calls (name, status, started_at) VALUES ('search', 'pending', 1);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<12000)
		INSERT INTO tool_calls (name, status, started_at) SELECT 'art exec', 'success', 1 FROM n`)
	logged(t, path, func(s *Store) {
		sh := start(s, 7, 0, "sh")
		for range maxCalls + 100 {
			s.EndProcess(start(s, 8, sh, "true"), Now(), code(0))
		}
		by(t, s, sh, makes(t, "y"))
	})
	got := callsIn(t, path)
	if n := strings.Count(got, "art exec"); n > maxCallsOfAll || n < maxCallsOfAll-10 || strings.Count(got, "true") != maxCalls-1 || !strings.Contains(got, "search") {
		t.Errorf("%d rows, %d of the session", n, strings.Count(got, "true"))
	}
}

// call is a row, without its times.
func call(result, failed, status string, process int, argv string) string {
	return fmt.Sprintf(`name="art exec" parameters="{\"command\":[%s],\"dir\":\"/d\",\"process\":%d}" result="%s" error="%s" status="%s"`,
		argv, process, result, failed, status)
}

// Where the table is not as the SDK makes it, it is left alone.
func TestCallsOfAnotherTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	must(t, openTest(t, path).Close())
	dbtest.Alter(t, path, "DROP TABLE tool_calls; CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, name TEXT)")
	logged(t, path, func(s *Store) {
		zero := 0
		p := newProcess(s, "true")
		s.EndProcess(p, Now(), &zero)
		by(t, s, p, makes(t, "x"))
	})
	if got := dump(t, path, "tool_calls"); got != "" {
		t.Errorf("it has %s", got)
	}
}
