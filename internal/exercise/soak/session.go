package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/processes"
)

//go:embed work.sh
var workScript []byte

// every is the time between two samples.
const every = 200 * time.Millisecond

// soak is a workspace and its database.
type soak struct {
	bin, dir string
}

func newSoak(bin, dir string) (*soak, error) {
	x := &soak{bin, dir}
	if err := os.MkdirAll(x.workspace(), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(x.workspace(), "host-file"), []byte("host\n"), 0o600); err != nil {
		return nil, err
	}
	return x, os.WriteFile(filepath.Join(x.workspace(), "work.sh"), workScript, 0o600)
}

func (x *soak) workspace() string { return filepath.Join(x.dir, "ws") }
func (x *soak) db() string        { return filepath.Join(x.dir, "soak.db") }

func (x *soak) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(x.bin, name), args...)
	cmd.Dir = x.dir
	cmd.Env = append(os.Environ(), "ART_LIBEXEC_DIR="+x.bin)
	return cmd
}

// session works for a time, and takes samples while it does. It returns how often all of the work
// was done.
func (x *soak) session(duration time.Duration) (list []sample, rounds int, err error) {
	cmd := x.command("art", "-q", "-i=false", "-m", x.workspace(), "-d", x.db(), "--",
		"sh", "work.sh", fmt.Sprint(max(int(duration.Seconds()), 1)))
	var diagnostics bytes.Buffer
	cmd.Stderr = &diagnostics
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, 0, err
	}
	done := make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			rounds++
		}
		done <- cmd.Wait()
	}()
	var server int
	for tick := time.NewTicker(every); ; {
		select {
		case err := <-done:
			tick.Stop()
			if err != nil {
				return nil, 0, fmt.Errorf("%w: %s", err, &diagnostics)
			}
			return list, rounds, x.check()
		case <-tick.C:
			if server == 0 {
				tree := processes.Tree(cmd.Process.Pid)
				if i := slices.IndexFunc(tree, func(p processes.Process) bool { return p.Comm == "art-fuse" }); i >= 0 {
					server = tree[i].PID
				}
			}
			// There is none when the server has just ended.
			if s, ok := take(server, x.db()); ok {
				list = append(list, s)
			}
		}
	}
}

func (x *soak) check() error {
	if out, err := x.command("art-fuse", "check", x.db()).CombinedOutput(); err != nil || len(out) > 0 {
		return fmt.Errorf("check: %w: %s", err, out)
	}
	return nil
}

// take samples a process and a database.
func take(pid int, db string) (s sample, ok bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return s, false
	}
	// proc_pid_status(5): "VmRSS:	   12345 kB"
	for line := range strings.Lines(string(status)) {
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &s[memory]); n == 1 {
			s[memory] <<= 10
		}
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return s, false
	}
	s[descriptors] = int64(len(fds))
	for what, path := range map[int]string{log: db + "-wal", database: db} {
		if st, err := os.Stat(path); err == nil {
			s[what] = st.Size()
		}
	}
	return s, s[memory] > 0
}
