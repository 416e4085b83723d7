package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/e2e/screen"
)

// TestAskGuest has what a command leaves try to answer the question whether to kill it, by what the terminal answers, and to
// paint over it.
func TestAskGuest(t *testing.T) {
	ownSessions(t)
	dir := t.TempDir()
	ws := filepath.Join(dir, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	script := `stty -icanon -echo
printf '\033[5n'
until [ "$(head -c 1)" = n ]; do :; done # with ESC [ 0 n, or with ESC [ ? 0 n
echo it answers
setsid sh -c 'trap "" HUP; sleep 1; printf "\033[5n\033[2J\033[Hpainted over"; sleep 1007' &
sleep 0.2
printf '\033[5n\033[5n\033[5n'
exit 3
`
	if err := os.WriteFile(filepath.Join(ws, "leave.sh"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	s := screen.JobShell(t, dir, nil)
	s.Enter("art -q -m ws -d ws.db --end ask -- sh leave.sh")
	s.Shows("kill them? [Y/n]")
	if text := s.Text(); !strings.Contains(text, "it answers") {
		t.Fatalf("the terminal does not answer: %s", text)
	}
	time.Sleep(1500 * time.Millisecond)
	s.Keys("\x1b[0n")
	time.Sleep(200 * time.Millisecond)
	if text := s.Text(); !strings.HasSuffix(strings.TrimSpace(text), "kill them? [Y/n]") {
		t.Errorf("the screen is %s", text)
	}
	s.Keys("n")
	s.Shows("painted over")
	time.Sleep(200 * time.Millisecond) // the terminal answers what was asked meanwhile, and not the shell
	s.Keys("\x03")
	s.Prompt()
	s.Enter("echo so it ga''ve $?")
	s.Shows("so it gave 3")
}
