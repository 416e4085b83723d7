package processes

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// What is below a process is found whatever it calls itself, at most so much, and without what is passed over.
func TestBelow(t *testing.T) {
	cmd := exec.Command("sh", "-c", `sleep 1001 & bash -c 'exec -a "$1" sleep 1002' x "$(printf 'a\nb\033[2Jc')" & bash -c 'sleep 1003; :' & true & sleep 0.2; echo; wait`)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range slices.Backward(Tree(cmd.Process.Pid)) {
			if p, err := os.FindProcess(p.PID); err == nil {
				_ = p.Kill()
			}
		}
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	none := func(int) bool { return false }
	list := Below(cmd.Process.Pid, 10, none)
	var lines []string
	inner := 0
	for i, words := range Commands(list, time.Minute) {
		lines = append(lines, fmt.Sprintf("%q", words))
		if words[0] == "bash" {
			inner = list[i].PID
		}
	}
	slices.Sort(lines)
	want := []string{`["a\nb\x1b[2Jc" "1002"]`, `["bash" "-c" "sleep 1003; :"]`, `["sleep" "1001"]`, `["sleep" "1003"]`}
	if !slices.Equal(lines, want) {
		t.Errorf("%v, not %v", lines, want)
	}
	if got := Below(cmd.Process.Pid, 2, none); len(got) != 2 {
		t.Errorf("of at most 2: %v", got)
	}
	if got := Below(cmd.Process.Pid, 10, func(pid int) bool { return pid == inner }); len(got) != 3 {
		t.Errorf("without one: %v", got)
	}
}
