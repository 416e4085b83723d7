package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/e2e/screen"
	"github.com/riverlytech/art/internal/processes"
)

// TestLeave detaches each agent that has a terminal interface, and attaches it on terminals of the same size and of others: the
// cells are those that it shows where it was never detached, and was given these sizes.
func TestLeave(t *testing.T) {
	dir := installed(t)
	for _, a := range all {
		f, ok := faces[a.name]
		if !ok || a.name == "gemini" { // which leaves parts of the lines that tmux breaks anew, and undoes by Ctrl-Z
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			staying, leaving := seat(t, a, f, dir), seat(t, a, f, dir)
			staying.begin(f)
			leaving.begin(f)
			before := leaving.settled()
			leaving.same("begun", leaving.pane, staying.settled())

			leaving.pane.Keys(`C-\`, "d")
			leaving.pane.Shows("left session")
			other := leaving.newPane(30, 100)
			other.Enter("clear; art attach")
			leaving.same("attached", other, before)
			other.Keys(`C-\`, "d")
			other.Shows("left session")

			other = leaving.newPane(24, 80)
			other.Enter("clear; art attach")
			staying.pane.Resize(24, 80)
			leaving.same("attached on a smaller one", other, staying.settled())
			for _, size := range [][2]int{{40, 120}, {30, 100}} {
				staying.pane.Resize(size[0], size[1])
				other.Resize(size[0], size[1])
				leaving.same("resized", other, staying.settled())
			}
			other.Keys(`C-\`, "d")
			other.Shows("left session")

			tree := leaving.session()
			other = leaving.newPane(40, 120)
			other.Enter("clear; art attach; echo ga''ve $?")
			staying.pane.Resize(40, 120)
			leaving.same("attached on a larger one", other, staying.settled())
			other.Keys("C-z") // nobody could continue it
			other.Shows("words that were typed")
			time.Sleep(time.Second)
			other.Keys(", and more")
			other.Shows("words that were typed, and more")
			for range 5 {
				other.Keys("C-c")
				time.Sleep(300 * time.Millisecond) // a second key is a key of its own
				other.Keys("C-c")
				if waits(2*time.Second, func() bool { return strings.Contains(other.Text(), "gave ") }) {
					break
				}
			}
			other.Shows("gave 0")
			leaving.nothingLeft(tree)
		})
	}
}

// seated is somebody at a terminal with an agent.
type seated struct {
	*trial
	pane *screen.Pane
	env  []string
	work string
	args string
}

// seat prepares an agent's home, and opens a terminal.
func seat(t *testing.T, a agent, f face, dir string) *seated {
	s := &seated{trial: newTrial(t, a, node[0], dir), args: f.args}
	s.work = s.workspace()
	if f.setup != "" {
		s.art(s.work, "run", "-q", "--preset", a.name, "sh", "-c", f.setup)
	}
	run := filepath.Join(s.state, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { waits(10*time.Second, func() bool { return s.sockets() == nil }) }) // whose terminals are gone by then
	s.env = s.environment(s.home, "URL="+s.url, "XDG_STATE_HOME="+s.state+"/state", "XDG_DATA_HOME="+s.state+"/data", "XDG_CONFIG_HOME="+s.state+"/config",
		"XDG_RUNTIME_DIR="+run)
	s.pane = s.newPane(30, 100)
	return s
}

func (s *seated) newPane(rows, cols int) *screen.Pane {
	p := screen.NewPane(s.T, s.env)
	p.Patience = time.Minute
	p.Resize(rows, cols)
	p.Enter("cd " + s.work)
	return p
}

func (s *seated) begin(f face) {
	s.pane.Enter(strings.TrimSpace("clear; art run -q " + s.name + " " + s.args))
	s.pane.Shows(f.ready)
	time.Sleep(time.Second) // what it shows first is not what takes keys
	s.pane.Keys("words that were typed")
	s.pane.Shows("words that were typed")
}

// settled returns the cells once they stay as they are.
func (s *seated) settled() string {
	last := ""
	s.pane.Until("the screen stays as it is", func() bool {
		was := last
		last = s.pane.Cells()
		time.Sleep(time.Second)
		return last == was
	})
	return last
}

// same waits until the cells of a screen are those that are wanted.
func (s *seated) same(what string, p *screen.Pane, want string) {
	s.Helper()
	if !waits(10*time.Second, func() bool { return p.Cells() == want }) {
		got := p.Cells()
		s.Errorf("%s: %d lines differ: it shows\n%s\nand not\n%s", what, differ(got, want), got, want)
		return
	}
	s.Logf("%s: the same %d lines", what, strings.Count(want, "\n")-1)
}

func differ(a, b string) (n int) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(x), len(y)) {
		if i >= len(x) || i >= len(y) || x[i] != y[i] {
			n++
		}
	}
	return n
}

func waits(d time.Duration, is func() bool) bool {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return false
}

// nothingLeft checks that there is no session any more, and nothing of one.
func (s *seated) nothingLeft(tree []processes.Process) {
	s.Helper()
	if list := s.run(s.work, s.env, "art", "ps"); !strings.Contains(list, "no session runs") {
		s.Errorf("art ps lists\n%s", list)
	}
	if files := s.sockets(); files != nil {
		s.Errorf("left are %v", files)
	}
	if !waits(10*time.Second, func() bool { return len(processes.Alive(tree)) == 0 }) {
		s.Errorf("left are the processes %v", processes.Alive(tree))
	}
}

// sockets lists those of sessions.
func (s *seated) sockets() []string {
	files, _ := filepath.Glob(filepath.Join(s.state, "run", "art", "*")) // fails for a bad pattern alone
	return files
}

// session returns the processes of the session, which is detached.
func (s *seated) session() []processes.Process {
	s.Helper()
	var session struct{ PID int }
	if err := json.Unmarshal([]byte(s.run(s.work, s.env, "art", "ps", "--json")), &session); err != nil {
		s.Fatal(err)
	}
	return processes.Tree(session.PID)
}
