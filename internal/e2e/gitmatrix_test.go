package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What may happen to a repository on the host while the guest works in it, and what the guest does. Each is a
// script; N is the number of the round.
var onHost = map[string]string{
	"idle":     "",
	"status":   "touch -d @1000$N host.txt; git status >/dev/null",
	"prompt":   "git diff --quiet; git diff --cached --quiet; true",
	"another":  "echo host$N >>host.txt",
	"same":     "echo host$N >>a.txt",
	"commits":  "echo host$N >>host.txt; git commit -qam host$N",
	"stashes":  "echo host$N >>host.txt; git stash -q",
	"switches": "git switch -q other 2>/dev/null || git switch -q -c other$N",
	"gc":       "git gc -q",
	"tags":     "git tag -f host$N >/dev/null; git tag -f -a -m x moving >/dev/null 2>&1",
	// Beyond the least that is asked for.
	"stages": "echo host$N >>host.txt; git add host.txt",
	"amends": "echo host$N >>host.txt; git commit -qa --amend -m host$N",
	"gcs":    "git commit -q --allow-empty -m host$N; git gc -q",
	// What happens while a pull runs; another pull follows.
	"locked": "",
	"during": "",
}

// duringPull is what the host does while the first of two pulls runs, and what it does after that.
var duringPull = map[string][2]string{
	"locked": {"touch .git/$(echo index.lock refs/heads/main.lock HEAD.lock | cut -d' ' -f$N)", "find .git -name '*.lock' -delete"},
	"during": {"for i in 1 2 3 4 5; do git commit -q --allow-empty -m during$N.$i && git rev-parse HEAD || true; done 2>/dev/null", ""},
}

var inGuest = map[string]string{
	"commit":   "echo guest$N >>a.txt; echo new >new$N.txt; rm -f d/gone$N; git add -A; git commit -qm guest$N",
	"amend":    "echo guest$N >>a.txt; git commit -qa --amend -m guest$N",
	"branch":   "git switch -q -c feature$N; echo guest$N >>a.txt; git commit -qam guest$N; git branch -q extra$N; git switch -q - ",
	"merge":    "git switch -q -c side$N; echo guest$N >>side.txt; git add side.txt; git commit -qm side$N; git switch -q -; git merge -q --no-ff -m merge$N side$N; git branch -q -d side$N",
	"rebase":   "git switch -q -c topic$N HEAD~1; echo guest$N >>topic$N.txt; git add topic$N.txt; git commit -qm topic$N; git switch -q -; git rebase -q topic$N",
	"gc":       "echo guest$N >>a.txt; git commit -qam guest$N; git gc -q --prune=now",
	"worktree": "git worktree add -q -b wt$N ../wt$N; cd ../wt$N; echo guest$N >>a.txt; git commit -qam wt$N; cd - >/dev/null; git worktree prune; echo guest$N >>b.txt; git commit -qam guest$N",
	"stash":    "echo guest$N >>a.txt; git stash -q; echo guest$N >>b.txt; git commit -qam guest$N; git stash pop -q; git stash -q",
	// Beyond the least that is asked for: what is in the index alone, and in the middle of something.
	"staged":  "echo staged$N >>a.txt; git add a.txt; echo later$N >>a.txt; echo only$N >only$N.txt; git add only$N.txt; rm only$N.txt",
	"merging": "git add -A; git commit -qm merged$N || true; git switch -q -c m$N; echo m$N >a.txt; git commit -qam m$N; git switch -q -; echo n$N >a.txt; git commit -qam n$N; ! git merge -q m$N >/dev/null",
	"linked":  "test -d ../linked || git worktree add -q -b linked ../linked; cd ../linked; echo linked$N >>a.txt; git commit -qm linked$N a.txt; echo staged$N >>b.txt; git add b.txt; cd - >/dev/null; echo guest$N >>b.txt; git commit -qam guest$N",
}

// harmless are the host's that no conflict may come from.
var harmless = []string{"idle", "status", "prompt", "another", "gc", "tags"}

// TestGitMatrix has both sides use one repository, in each pair of ways, for three rounds. After each pull,
// git finds nothing wrong, nothing is staged that nobody staged, and no commit of either side is lost. All pairs
// take five minutes: they are tried where ART_TEST_LONG is set.
func TestGitMatrix(t *testing.T) {
	hosts, guests, rounds, ways := keys(onHost), keys(inGuest), 3, []string{"after", "live", "pushed", "between"}
	if os.Getenv("ART_TEST_LONG") == "" {
		hosts, rounds, ways = []string{"status", "commits", "stages", "gc"}, 2, ways[:3]
		guests = []string{"commit", "amend", "gc", "stash"}
		for _, row := range [][3]string{
			{"commits", "staged", "after"}, {"switches", "staged", "after"}, {"commits", "merging", "after"}, {"idle", "linked", "after"},
			{"stages", "linked", "after"}, {"commits", "staged", "between"}, {"locked", "commit", "after"}, {"locked", "branch", "after"}, {"during", "commit", "after"}, {"idle", "rebase", "pushed"},
		} {
			t.Run(strings.Join(row[:], "/"), func(t *testing.T) { t.Parallel(); runMatrix(t, row[0], row[1], row[2], rounds) })
		}
	}
	for _, h := range hosts {
		for _, g := range guests {
			for _, how := range ways {
				if how == "between" && g != "staged" {
					continue // that is about the index alone
				}
				t.Run(h+"/"+g+"/"+how, func(t *testing.T) {
					t.Parallel()
					runMatrix(t, h, g, how, rounds)
				})
			}
		}
	}
}

func runMatrix(t *testing.T, host, guest, how string, rounds int) {
	m := newMatrix(t, host, guest)
	m.live, m.pushed, m.between = how == "live", how == "pushed", how == "between"
	m.push()
	for n := range rounds {
		m.round(n + 1)
	}
}

func keys(m map[string]string) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

type matrix struct {
	*testing.T
	host, guest string
	live        bool // the host works while the session runs, and the guest once more after that
	between     bool // the host works between two sessions
	ws, db      string
	pushed      bool     // all of the host's is in the database
	told        []string // commits that were made, on either side
	staged      []string // what the guest has staged in the end
	holds       []string // objects that its references, its index and its worktrees hold then
	log         bytes.Buffer
}

func newMatrix(t *testing.T, host, guest string) *matrix {
	dir := t.TempDir()
	m := &matrix{T: t, host: host, guest: guest, ws: filepath.Join(dir, "ws"), db: filepath.Join(dir, "ws.db")}
	m.sh(m.dir(), `git init -q -b main ws; cd ws; mkdir d
for f in a.txt b.txt host.txt d/gone1 d/gone2 d/gone3; do echo $f >$f; done
git add .; git commit -qm first; echo more >>b.txt; git commit -qam second; git branch other; git tag -a -m x moving`, 0)
	return m
}

func (m *matrix) dir() string { return filepath.Dir(m.ws) }

// sh runs a script and returns what it prints.
func (m *matrix) sh(dir, script string, n int) string {
	m.Helper()
	out, err := m.try(dir, script, n)
	if err != nil {
		m.Fatalf("%s\n%v\n%s\n%s", script, err, out, m.log.String())
	}
	return out
}

func (m *matrix) try(dir, script string, n int) (string, error) {
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("N=%d", n), "HOME="+m.dir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=h", "GIT_AUTHOR_EMAIL=h@example.org", "GIT_COMMITTER_NAME=h", "GIT_COMMITTER_EMAIL=h@example.org")
	out, err := cmd.CombinedOutput()
	fmt.Fprintf(&m.log, "$ %s\n%s", script, out)
	return string(out), err
}

const (
	// listCommits prints all commits that references and reflogs hold.
	listCommits = "git rev-list --all --reflog"
	// listHeld prints the objects that are held without reflogs: by references, by indexes, and by a merge that is
	// not finished.
	listHeld = "{ git rev-list --objects --all --indexed-objects HEAD $(git stash list --format=%H); git rev-parse -q --verify MERGE_HEAD || true; } | sed 's/ .*//'"
)

func (m *matrix) round(n int) {
	m.Helper()
	// The guest works first; then the host does, while the guest's work is not there yet.
	before := strings.Fields(m.sh(m.ws, listHeld, n))
	m.session(n)
	if !m.live {
		m.sh(m.ws, onHost[m.host], n)
	}
	if m.between {
		m.session(10*n + 1)
		// The guest never stages the host's files, whatever its index makes of them.
		m.staged = slices.DeleteFunc(m.staged, func(line string) bool { return strings.Contains(line, "host") })
	}
	after := strings.Fields(m.sh(m.ws, listHeld, n))
	m.holds = slices.DeleteFunc(m.holds, func(id string) bool { // the host let go of it, as it may
		return slices.Contains(before, id) && !slices.Contains(after, id)
	})
	m.told = append(m.told, strings.Fields(m.sh(m.ws, listCommits, n))...)
	staged := m.sh(m.ws, "git diff --cached --name-status", n)

	told := m.pull(n)
	if slices.Contains(harmless, m.host) && !m.live && strings.Contains(told, "CONFLICT ws/.git") {
		m.Errorf("round %d: a conflict that is none\n%s", n, m.log.String())
	}
	if out := m.sh(m.ws, "git fsck --strict 2>&1 | grep -v -e ^dangling -e ^notice || true", n); strings.TrimSpace(out) != "" {
		m.Errorf("round %d: fsck: %s\n%s", n, out, m.log.String())
	}
	now := m.sh(m.ws, "git status --short >/dev/null; git diff --cached --name-status", n)
	for line := range strings.Lines(now) {
		if !strings.Contains(staged, line) && !slices.Contains(m.staged, strings.TrimSpace(line)) {
			m.Errorf("round %d: nobody staged %q\n%s", n, line, m.log.String())
		}
	}
	if !m.live && len(m.staged) == 0 && now != staged {
		m.Errorf("round %d: staged before: %q, and after: %q\n%s", n, staged, now, m.log.String())
	}
	have := strings.Fields(m.sh(m.ws, listCommits, n))
	if strings.Contains(told, "left as it is") { // then they are still the guest's
		have = append(have, strings.Fields(m.sh(m.dir(), filepath.Join(bin, "art")+" -q -m ws -d ws.db -- "+listCommits, n))...)
	}
	for _, id := range m.told {
		if !slices.Contains(have, id) {
			m.Errorf("round %d: commit %s is lost\n%s", n, id, m.log.String())
			return
		}
	}
	m.held(n)
	if m.Failed() {
		return
	}
	if m.pushed && (m.host == "same" || strings.Contains(told, "changed by the guest and changed on the host")) { // the user decides for the guest's
		m.sh(m.dir(), filepath.Join(bin, "art")+" pull --force -m ws -d ws.db", n)
	}
	// As a person would: what is left over is joined, so that the next round begins with something whole.
	m.sh(m.ws, `git stash list >/dev/null
if git rev-parse -q --verify refs/heads/main.art >/dev/null; then
	git stash -q -u 2>/dev/null || true
	git switch -q main
	git merge -q --no-edit -X ours main.art && git branch -q -D main.art
fi
git add -A; git commit -qm rest || true`, n)
	if m.between && strings.Contains(onHost[m.host], "git commit") && strings.Contains(onHost[m.host], "host.txt") {
		m.sh(m.ws, "git show HEAD:host.txt | grep -x host$N", n)
	}
	m.told = append(m.told, strings.Fields(m.sh(m.ws, listCommits, n))...)
	m.push()
}

// pull pulls, and returns what is said. Where something happens on the host meanwhile, it pulls once more after that.
func (m *matrix) pull(n int) string {
	m.Helper()
	pull := filepath.Join(bin, "art") + " pull -m ws -d ws.db"
	if do, ok := duringPull[m.host]; ok {
		host := "(cd ws; " + do[0] + ") & "
		if m.host == "locked" {
			host = "(cd ws; " + do[0] + "); "
		}
		out, _ := m.try(m.dir(), host+pull+" >pull.log 2>&1 || true; cat pull.log >&2; wait; cd ws; "+do[1], n)
		for line := range strings.Lines(out) {
			if line = strings.TrimSpace(line); len(line) == 40 && !strings.Contains(line, " ") {
				m.told, m.holds = append(m.told, line), append(m.holds, line)
			}
		}
	}
	told, err := m.try(m.dir(), pull, n)
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 3) {
		m.Fatalf("pull: %v\n%s", err, m.log.String())
	}
	return told
}

// held makes sure that all that the guest held, without reflogs, is held by the host or is still the guest's, whose
// repositories have to be whole.
func (m *matrix) held(n int) {
	m.Helper()
	have := m.sh(m.ws, listHeld, n)
	have += m.sh(m.dir(), filepath.Join(bin, "art")+" -q -m ws -d ws.db -- sh -ec 'export GIT_OPTIONAL_LOCKS=0; "+strings.ReplaceAll(listHeld, "'", `'\''`)+`
git fsck --strict 2>&1 | grep -v -e ^dangling -e ^notice || true
git worktree list --porcelain | grep ^worktree | while read -r _ dir; do git -C $dir status >/dev/null; done'`, n)
	if strings.Contains(have, "error") || strings.Contains(have, "fatal") || strings.Contains(have, "missing") {
		m.Errorf("round %d: the guest finds: %s\n%s", n, have, m.log.String())
	}
	lines := map[string]bool{}
	for line := range strings.Lines(have) {
		lines[strings.TrimSpace(line)] = true
	}
	for _, id := range m.holds {
		if !lines[id] {
			m.Errorf("round %d: nothing holds %s\n%s", n, id, m.log.String())
			return
		}
	}
}

// push stores what the host has. The guest must find a repository in which nothing is to do.
func (m *matrix) push() {
	m.Helper()
	if !m.pushed {
		return
	}
	art := filepath.Join(bin, "art")
	told, err := m.try(m.dir(), art+" push -q -m ws -d ws.db", 0)
	switch {
	case err == nil:
	case m.guest == "merging" && strings.Contains(told, "pull first"):
		return // a merge that is not finished stays the guest's, and the repository with it
	default:
		m.Fatalf("push: %v\n%s", err, m.log.String())
	}
	if out := m.sh(m.dir(), filepath.Join(bin, "art")+" -q -m ws -d ws.db -- sh -ec 'git fsck --strict 2>&1 | grep -v -e ^dangling -e ^notice || true; git status --porcelain'", 0); out != "" {
		m.Errorf("the guest finds: %s\n%s", out, m.log.String())
	}
}

// session has the guest work. Where the host works meanwhile, the guest does the same once more then, which may fail,
// as git does where files change under it.
func (m *matrix) session(n int) {
	m.Helper()
	script := "export GIT_AUTHOR_NAME=g GIT_AUTHOR_EMAIL=g@example.org GIT_COMMITTER_NAME=g GIT_COMMITTER_EMAIL=g@example.org N=" + fmt.Sprint(n) + "\n" +
		"(" + inGuest[m.guest] + ") >&2"
	if m.live {
		script += " || true\necho ready; read go; N=live$N; (" + inGuest[m.guest] + ") >&2 || git rebase --abort || true\n"
	} else {
		script += "\ngit fsck --strict >&2\n"
	}
	script += "git diff --cached --name-status | sed 's/^/staged: /'\n" + listHeld + " | sed 's/^/holds: /'\n"
	script += listCommits
	if m.live {
		script += " || true" // a directory of objects that is the guest's own shows none that the host makes there
	}
	cmd := exec.Command(filepath.Join(bin, "art"), "-q", "-m", m.ws, "-d", m.db, "--", "sh", "-ec", script)
	cmd.Env = append(os.Environ(), "HOME="+m.dir(), "PATH="+bin+":"+os.Getenv("PATH"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		m.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		m.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	m.staged, m.holds = nil, nil
	for s := bufio.NewScanner(out); s.Scan(); {
		is, ok := strings.CutPrefix(s.Text(), "staged: ")
		object, holds := strings.CutPrefix(s.Text(), "holds: ")
		switch {
		case holds:
			m.holds = append(m.holds, object)
		case ok:
			m.staged = append(m.staged, is)
		case s.Text() == "ready":
			m.sh(m.ws, onHost[m.host], n)
			fmt.Fprintln(in, "go")
		default:
			m.told = append(m.told, s.Text())
		}
	}
	err = cmd.Wait()
	fmt.Fprintf(&m.log, "guest %d$ %s\n%s", n, script, stderr.Bytes())
	if err != nil {
		m.Fatalf("guest: %v\n%s", err, m.log.String())
	}
}
