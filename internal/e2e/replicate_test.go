package e2e

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/processes"
)

// numbers is what the guest does: it appends numbers to a file with fsync, and then says each.
const numbers = `exec python3 -uc '
import os, sys
f = os.open("numbers", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
n = int(sys.argv[1])
while True:
    n += 1
    os.write(f, b"%d\n" % n)
    os.fsync(f)
    print(n)
' "$(tail -n1 numbers 2>/dev/null || echo 0)"`

// copyLag is how far a copy to a directory of this host may be behind. It is a second on a machine that does nothing else.
const copyLag = 3 * time.Second

// acknowledged is what the guest was told to be durable, and when.
type acknowledged struct {
	mu   sync.Mutex
	at   []time.Time // GUARDED_BY(mu)
	last int         // GUARDED_BY(mu)
}

// before is the last number that was acknowledged before a time.
func (a *acknowledged) before(then time.Time) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	late := 0
	for _, at := range slices.Backward(a.at) {
		if !at.After(then) {
			break
		}
		late++
	}
	return a.last - late
}

// replicating is a session that writes numbers, and is copied.
type replicating struct {
	p    *parts
	cmd  *exec.Cmd
	acks acknowledged
	done chan struct{}
	errs strings.Builder
}

func (p *parts) replicate() *replicating {
	r := &replicating{p: p, done: make(chan struct{})}
	r.cmd = p.command("art", "run", "-q", "-i=false", "-m", "ws", "-d", "a.db", "--replicate", "file://"+p.work+"/copy", "--", "sh", "-c", numbers)
	r.cmd.Stderr = &r.errs
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				continue
			}
			r.acks.mu.Lock()
			r.acks.at, r.acks.last = append(r.acks.at, time.Now()), n
			r.acks.mu.Unlock()
		}
	}()
	return r
}

// program finds a process of the session by the name of its program; 0: there is none.
func (r *replicating) program(name string) int {
	tree := processes.Tree(r.cmd.Process.Pid)
	if i := slices.IndexFunc(tree, func(p processes.Process) bool { return p.Comm == name }); i >= 0 {
		return tree[i].PID
	}
	return 0
}

// wait waits for the end of the session, and of art-replicate, which may outlive it.
func (r *replicating) wait(replicator int) {
	<-r.done
	_ = r.cmd.Wait()
	for end := time.Now().Add(time.Minute); replicator != 0 && syscall.Kill(replicator, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			r.p.t.Fatal("art-replicate does not end")
		}
	}
}

// brought is the last number in what is brought back, all of which has to be the numbers from 1 on.
func (p *parts) brought(round int) int {
	p.t.Helper()
	db := fmt.Sprintf("back%d.db", round)
	defer os.Remove(filepath.Join(p.work, db))
	cmd := p.command("art", "restore", "file://"+p.work+"/copy", "-d", db)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("round %d: %v\n%s", round, err, out)
	}
	last := 0
	text, err := p.run("art-fuse", "cat", db, "/ws/numbers")
	if err != nil {
		return 0 // it is not there yet
	}
	for line := range strings.Lines(text) {
		if last++; strings.TrimSpace(line) != strconv.Itoa(last) {
			p.t.Fatalf("round %d: line %d is %q", round, last, line)
		}
	}
	return last
}

// What is brought back of a copy is a prefix of what was written, and has all that was acknowledged more than the lag before a process was
// killed; or all of it, where the session has ended in order, or only art-replicate was killed.
func TestReplicateKills(t *testing.T) {
	rounds := 8
	if os.Getenv("ART_TEST_LONG") != "" {
		rounds = 200
	}
	p := &parts{t: t, work: t.TempDir()}
	for _, dir := range []string{"ws", "home", "run", ".tmp"} {
		if err := os.MkdirAll(filepath.Join(p.work, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	victims := []string{"nobody", "art-replicate", "art-fuse", "art", "all"}
	var lags []time.Duration
	for round := range rounds {
		r := p.replicate()
		time.Sleep(2*time.Second + rand.N(time.Second))
		victim := victims[round%len(victims)]
		server, replicator := r.program("art-fuse"), r.program("art-replicate")
		if server == 0 || replicator == 0 {
			t.Fatalf("round %d: the session does not run: %s", round, &r.errs)
		}
		killed := time.Now()
		whole := true
		switch victim {
		case "nobody":
			_ = r.cmd.Process.Signal(syscall.SIGTERM)
			r.wait(replicator)
		case "art-replicate":
			kill(t, replicator)
			time.Sleep(rand.N(2 * time.Second)) // there is another one by then, or not
			_ = r.cmd.Process.Signal(syscall.SIGTERM)
			r.wait(replicator)
		case "art-fuse":
			kill(t, server)
			r.wait(replicator)
		case "art":
			kill(t, r.cmd.Process.Pid)
			r.wait(replicator)
		case "all":
			// As when a machine fails: none of them sees what becomes of another.
			for _, pid := range []int{r.cmd.Process.Pid, replicator, server} {
				_ = syscall.Kill(pid, syscall.SIGSTOP)
			}
			killed = time.Now()
			for _, pid := range []int{replicator, server, r.cmd.Process.Pid} {
				kill(t, pid)
			}
			r.wait(replicator)
			whole = false
		}
		want, all := r.acks.before(killed.Add(-copyLag)), r.acks.before(time.Now())
		if whole {
			want = all
		}
		got := p.brought(round)
		if got < want {
			t.Fatalf("round %d, %s killed: %d were acknowledged in time, and %d in all, and %d are in the copy\n%s", round, victim, want, all, got, &r.errs)
		}
		if !whole {
			r.acks.mu.Lock()
			if missing := r.acks.last - got; missing > 0 && missing < len(r.acks.at) {
				lags = append(lags, killed.Sub(r.acks.at[len(r.acks.at)-missing]))
			}
			r.acks.mu.Unlock()
		}
		if out, err := p.command("art-fuse", "check", "a.db").CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("round %d, %s killed: %v\n%s", round, victim, err, out)
		}
	}
	slices.Sort(lags)
	if len(lags) > 0 {
		t.Logf("behind when all were killed: median %v, most %v, of %d", lags[len(lags)/2], lags[len(lags)-1], len(lags))
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}
