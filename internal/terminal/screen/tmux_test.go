package screen

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tmux is a server of tmux, another terminal to compare with.
type tmux struct {
	t      *testing.T
	socket string
	dir    string
}

func newTmux(t *testing.T) tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is needed for this test: ", err, " (internal/packaging/deps test installs it)")
	}
	dir := t.TempDir()
	m := tmux{t, filepath.Join(dir, "socket"), dir}
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, []byte("set -g status off\nset -g history-limit 2000\nset -g default-shell /bin/sh\nset -g exit-empty off\nset -g remain-on-exit on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.run("-f", config, "new-session", "-d", "-x", "80", "-y", "24", "sleep 1000")
	t.Cleanup(func() { m.run("kill-server") })
	return m
}

func (m tmux) run(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-u", "-S", m.socket}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TMUX=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// shown is what a terminal shows, and what of its state tmux tells.
type shown struct {
	lines, other []string
	state        string
}

const tmuxState = "cursor #{cursor_x},#{cursor_y} visible #{cursor_flag} insert #{insert_flag} keys #{keypad_cursor_flag} keypad #{keypad_flag} " +
	"alternate #{alternate_on} margins #{scroll_region_upper},#{scroll_region_lower} wrap #{wrap_flag} origin #{origin_flag} " +
	"mouse #{mouse_standard_flag}#{mouse_button_flag}#{mouse_all_flag}#{mouse_sgr_flag} tabs #{pane_tabs}"

// show has tmux show a stream on a terminal of that size.
func (m tmux) show(stream []byte, cols, rows int) (is shown) {
	m.t.Helper()
	file := filepath.Join(m.dir, "stream")
	if err := os.WriteFile(file, stream, 0o600); err != nil {
		m.t.Fatal(err)
	}
	// The answer to the question at the end comes when tmux has followed all.
	done := filepath.Join(m.dir, "done")
	os.Remove(done)
	script := fmt.Sprintf(`stty raw -echo; cat '%s'; printf '\033[5n'; head -c 4 >/dev/null; : >'%s'; exec sleep 1000`, file, done)
	m.run("new-session", "-d", "-s", "shown", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), script)
	defer m.run("kill-session", "-t", "shown")
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(done); err == nil {
			break
		}
		if time.Now().After(end) {
			m.t.Fatalf("tmux does not follow %q", stream)
		}
	}
	is.state = strings.Replace(strings.TrimSpace(m.run("display", "-t", "shown", "-p", tmuxState)), "tabs 0,", "tabs ", 1)
	is.lines = captured(m.run("capture-pane", "-t", "shown", "-e", "-N", "-p"), cols, rows)
	if strings.Contains(is.state, "alternate 1") {
		is.other = captured(m.run("capture-pane", "-t", "shown", "-e", "-N", "-p", "-a"), cols, rows)
	}
	return is
}

// captured reads lines as tmux writes them: with styles that go on from line to line, and with the line drawing set as G1.
func captured(text string, cols, rows int) (lines []string) {
	s := New(cols, rows)
	s.Write([]byte("\x1b)0\x1b[?7l"))
	all := strings.Split(strings.ReplaceAll(text, "5:3", "53"), "\n") // which tmux 3.3 takes for a kind of underline
	for y, line := range all[:min(rows, len(all))] {
		fmt.Fprintf(s, "\x1b[%dH%s", y+1, line)
	}
	s.flush()
	for _, r := range s.lines {
		lines = append(lines, looks(s, r.cells))
	}
	return lines
}

// looks describes cells. tmux does not tell of links, nor of the background at the end of a line, and has none where a line
// comes in by a character that wraps.
func looks(s *Screen, row []cell) string {
	row = slices.Clone(row)
	for i := range row {
		row[i].extra = 0
		if c := &row[i]; c.char == ' ' && c.attrs == 0 {
			*c = blank
		}
	}
	return cells(s, row)
}

// shows is what s shows, as show tells it.
func (s *Screen) shows() (is shown) {
	s.flush()
	for _, r := range s.lines {
		is.lines = append(is.lines, looks(s, r.cells))
	}
	if s.altMode != 0 {
		for _, r := range s.primary.lines {
			is.other = append(is.other, looks(s, r.cells))
		}
	}
	n := map[bool]int{true: 1}
	x := s.cur.x
	if s.cur.wrap {
		x++ // as of tmux
	}
	on := func(mode int) int {
		on, _ := s.modes.is(mode)
		return n[on]
	}
	var stops []string
	for x := range s.cols {
		if s.tabs.at(x) && x > 0 {
			stops = append(stops, fmt.Sprint(x))
		}
	}
	is.state = fmt.Sprintf("cursor %d,%d visible %d insert %d keys %d keypad %d alternate %d margins %d,%d wrap %d origin %d mouse %d%d%d%d tabs %s",
		x, s.cur.y, on(25), n[s.modes.insert], on(1), n[s.modes.keypad], n[s.altMode != 0], s.top, s.bottom, on(7), n[s.cur.origin],
		on(1000), on(1002), on(1003), on(1006), strings.Join(stops, ","))
	return is
}

func (is shown) all() []string {
	return slices.Concat(is.lines, []string{"the other"}, is.other, []string{is.state})
}

// agree has tmux show a stream, and what the screen makes of it.
func (m tmux) agree(what string, stream []byte, cols, rows int) bool {
	m.t.Helper()
	s := New(cols, rows)
	s.Write(stream)
	ok := same(m.t, what+", ours and tmux", s.shows().all(), m.show(stream, cols, rows).all())
	return same(m.t, what+", ours and tmux after Redraw", s.shows().all(), m.show(s.Redraw(cols, rows), cols, rows).all()) && ok
}

func TestLikeTmux(t *testing.T) {
	m := newTmux(t)
	n := uint64(30)
	if testing.Short() {
		n = 8
	}
	for seed := range n {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 5)), cols: 20 + int(seed%60), rows: 6 + int(seed%19), plain: true}
		stream := g.stream(60)
		if !m.agree(fmt.Sprint("seed ", seed), stream, g.cols, g.rows) {
			t.Fatalf("seed %d: %q", seed, stream)
		}
	}
}
