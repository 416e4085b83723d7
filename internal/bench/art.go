package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const guestHome = "/home/agent"

// artVariable forces the way on which art's requests go.
const artVariable = "ART_WIRE="

// Settings of the user's with which a session's checkpoints cost the most, and nothing.
const (
	everySecond   = `{"checkpoints": {"every": "1s"}}`
	noCheckpoints = `{"checkpoints": "off"}`
)

// artHistory is a session as artSystem has it, over /dev/fuse and with settings about checkpoints. It is compared with its like, and only
// if it is named.
func artHistory(name, bin, settings string) *system {
	s := artSystem(name, bin, deviceWire)
	s.named, s.uncached = true, nil
	open := s.open
	s.open = func(base, scratch string) (*session, error) {
		if err := useSettings(scratch, settings); err != nil {
			return nil, err
		}
		return open(base, scratch)
	}
	return s
}

// useSettings has sessions in scratch find settings of the user's.
func useSettings(scratch, settings string) error {
	dir := filepath.Join(scratch, configName, "art")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "sandbox.json"), []byte(settings), 0o600)
}

// artSystem is a session of art with a new database in scratch.
func artSystem(name, bin, wire string) *system {
	art := filepath.Join(bin, "art")
	return &system{
		name: name, wire: wire, uncached: artUncached(wire),
		missing: func() string {
			if _, err := os.Stat(art); err != nil {
				return art + " is missing: run make build"
			}
			return missingRings(wire)
		},
		open: func(base, scratch string) (*session, error) {
			s := &session{home: guestHome, goroot: guestGoroot}
			worker := guestHome + "/" + workspaceName + "/" + workerName
			ws := filepath.Join(base, workspaceName)
			cmd := exec.Command(art, "-q", "-i=false",
				"-m", ws, "-d", filepath.Join(scratch, databaseName), "--", worker, "worker")
			cmd.Env = artEnvironment(scratch, wire)
			err := trust(art, ws, cmd.Env)
			if err == nil {
				err = s.startWorker(cmd)
			}
			if err == nil {
				s.server, err = artFuse(s.worker.Process.Pid)
			}
			if err == nil {
				err = checkWire(s.server.pid, wire)
			}
			if err != nil {
				s.close()
				return nil, err
			}
			s.server.requests = func() (int64, error) { return askRequests(s) }
			return s, nil
		},
	}
}

const (
	databaseName = "ws.db"
	configName   = "config"
)

// artEnvironment has art keep what it knows of workspaces in scratch, and the user's settings be those that are there, if any.
func artEnvironment(scratch, wire string) []string {
	return append(os.Environ(), "XDG_STATE_HOME="+scratch, "XDG_CONFIG_HOME="+filepath.Join(scratch, configName), artVariable+wire)
}

// trust lets the workspace's settings mount Go.
func trust(art, ws string, env []string) error {
	cmd := exec.Command(art, "trust", ws)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("trust the workspace: %w: %s", err, out)
	}
	return nil
}

// artFuse finds the art-fuse of a session by the pid of its art.
func artFuse(art int) (*process, error) {
	// A child is in the list of the thread that made it.
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", art))
	if err != nil {
		return nil, err
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(text)) {
			name, err := os.ReadFile("/proc/" + field + "/comm")
			if err != nil || strings.TrimSpace(string(name)) != "art-fuse" {
				continue
			}
			pid, err := strconv.Atoi(field)
			return &process{pid: pid}, err
		}
	}
	return nil, errors.New("the session has no art-fuse")
}

var operationsLine = regexp.MustCompile(`(?m)^art-fuse: operations:(.*)\n`)

// askRequests lets art-fuse tell what it has served.
func askRequests(s *session) (int64, error) {
	said := len(s.told.String())
	if err := syscall.Kill(s.server.pid, syscall.SIGUSR1); err != nil {
		return 0, fmt.Errorf("ask art-fuse: %w", err)
	}
	for begin := time.Now(); time.Since(begin) < 5*time.Second; time.Sleep(time.Millisecond) {
		if m := operationsLine.FindStringSubmatch(s.told.String()[said:]); m != nil {
			return sumOperations(m[1])
		}
	}
	return 0, fmt.Errorf("art-fuse does not tell its operations: %s", s.told)
}

// sumOperations adds up "Kind=N Kind=N".
func sumOperations(text string) (sum int64, err error) {
	for _, field := range strings.Fields(text) {
		_, count, _ := strings.Cut(field, "=")
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the count of operations %q: %w", field, err)
		}
		sum += n
	}
	return sum, nil
}

// told is what a process has written to its standard error so far.
type told struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (t *told) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *told) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
