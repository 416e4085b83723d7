package e2e

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/riverlytech/art/internal/packaging/picture"
)

var updatePicture = flag.Bool("update-picture", false, "record the picture of a session that README.md shows")

// TestPicture holds the picture in README.md to what a terminal shows now.
func TestPicture(t *testing.T) {
	readme(t)
	dir := exampleDir(t)
	var shown strings.Builder
	for _, line := range []string{
		`art -m project -d work.db -- sh -c 'echo "print(42)" >>main.py; mv old.txt new.txt; touch /usr/x'`,
		`cat project/main.py`,
		`art diff -m project -d work.db`,
		`art diff -m project -d work.db --patch main.py`,
		`art-fuse tree work.db`,
		`art pull -q -m project -d work.db`,
		`cat project/main.py`,
	} {
		shown.WriteString("\x1b[1m$ " + line + "\x1b[m\n")
		shown.WriteString(onTerminal(t, dir, line))
	}
	got, err := picture.SVG(strings.ReplaceAll(shown.String(), dir, "/home/you"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(repo, "internal/packaging/picture/session.svg")
	if *updatePicture {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != got {
		t.Errorf("the picture is not what a session looks like (%v): go test ./internal/e2e -run TestPicture -update-picture records it. A session prints\n%s", err, shown.String())
	}
}

// onTerminal runs a command on a terminal and returns what that shows.
func onTerminal(t *testing.T, dir, line string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+dir, "TERM=xterm", "PAGER=cat", "NO_COLOR=", "XDG_STATE_HOME=")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	var shown []byte
	for buf := make([]byte, 4096); err == nil; { // EIO when the last program has closed it (pty(7))
		var n int
		n, err = terminal.Read(buf)
		shown = append(shown, buf[:n]...)
	}
	cmd.Wait() // how it ended, the picture does not show
	return string(shown)
}
