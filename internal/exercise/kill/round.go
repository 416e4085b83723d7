package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/internal/processes"
)

//go:embed work.sh
var workScript []byte

//go:embed verify.sh
var verifyScript []byte

// targets are what is killed, by the names of their processes.
var targets = []string{"art-fuse", "art", "bwrap"}

const (
	freshEvery = 8                // rounds that one database and its forks live
	grace      = 30 * time.Second // for a session to end after a part of it was killed, on a busy machine
	promises   = 3                // kinds of lines that the work writes
)

// exercise is a workspace, and a database that session after session works on.
type exercise struct {
	bin, dir string
	rnd      *rand.Rand
	family   []*member
	now      *member // that this round is about

	rounds   int
	counts   map[string]int // of kills, by target
	survived int            // sessions that ended before they were killed
	forks    int            // that were made
	last     string         // what was killed last, and when
	durable  [promises]int  // promises that were made
}

func newExercise(bin, dir string, seed uint64) (*exercise, error) {
	x := &exercise{bin: bin, dir: dir, rnd: rand.New(rand.NewPCG(seed, 0)), counts: map[string]int{}}
	x.fresh()
	if err := os.MkdirAll(x.workspace(), 0o700); err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"work.sh": workScript, "verify.sh": verifyScript} {
		if err := os.WriteFile(filepath.Join(x.workspace(), name), data, 0o600); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func (x *exercise) workspace() string { return filepath.Join(x.dir, "ws") }
func (x *exercise) db() string        { return filepath.Join(x.dir, x.now.name) }

func (x *exercise) killed() (n int) {
	for _, c := range x.counts {
		n += c
	}
	return n
}

func (x *exercise) String() string {
	return fmt.Sprintf("%d sessions, killed %v, %d ended before; %d forks; durable %d files, %d commits, %d rows",
		x.rounds, x.counts, x.survived, x.forks, x.durable[0], x.durable[1], x.durable[2])
}

// round is one session, its end, and what is proved afterwards.
func (x *exercise) round() error {
	x.rounds++
	if x.rounds%freshEvery == 1 {
		old, _ := filepath.Glob(filepath.Join(x.dir, "*.db*"))
		for _, path := range old {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
		x.fresh()
	}
	x.now = x.family[x.rnd.IntN(len(x.family))]
	said, err := x.session()
	if err != nil {
		return err
	}
	if mounts := processes.Mounts(x.dir); len(mounts) > 0 {
		return fmt.Errorf("left mounted: %v", mounts)
	}
	if _, err := os.Stat(x.db()); err != nil && said.nothing() {
		return nil // it was killed before there was one
	}
	if err := x.check(); err != nil && !(said.nothing() && strings.Contains(err.Error(), "it is empty")) {
		return err
	}
	if err := x.keep(); err != nil {
		return err
	}
	if err := x.verify(x.rounds, said); err != nil {
		return err
	}
	if err := x.check(); err != nil {
		return err
	}
	if err := x.noOrphans(); err != nil {
		return err
	}
	x.now.round, x.now.said = x.rounds, said
	if err := x.others(); err != nil {
		return err
	}
	if x.rnd.IntN(2) == 0 {
		return x.fork()
	}
	return nil
}

// promised is what the work was told to be durable: the last of each kind of line.
type promised map[string]string

func (p promised) nothing() bool { return p["storm"] == "0" && p["git"] == "-" && p["sqlite"] == "0" }

// session runs the work and kills a part of it.
func (x *exercise) session() (promised, error) {
	works := 200 + x.rnd.IntN(1500) // milliseconds
	cmd := x.command("art", "-q", "-i=false", "-m", x.workspace(), "-d", x.db(), "--",
		"sh", "work.sh", fmt.Sprint(x.rounds), fmt.Sprintf("%d.%03d", works/1000, works%1000))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var diagnostics bytes.Buffer
	cmd.Stderr = &diagnostics
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	read := make(chan promised, 1)
	go func() { read <- x.listen(out) }()
	after := x.rnd.IntN(works + 300)
	if x.rnd.IntN(3) == 0 {
		after = x.rnd.IntN(120) // while it begins
	}
	time.Sleep(time.Duration(after) * time.Millisecond)
	target := targets[x.rnd.IntN(len(targets))]
	tree := processes.Tree(cmd.Process.Pid)
	i := slices.IndexFunc(tree, func(p processes.Process) bool { return p.Comm == target })
	if i >= 0 && syscall.Kill(tree[i].PID, syscall.SIGKILL) == nil {
		x.counts[target]++
		x.last = fmt.Sprintf("%v killed after %d of %d ms", tree[i], after, works)
	} else {
		x.survived++ // or there is not such a part yet: the session ends by itself
		x.last = "nothing killed"
	}
	var said promised
	select {
	case said = <-read:
	case <-time.After(grace + 3*time.Second):
		left := waiting(processes.Alive(processes.Tree(cmd.Process.Pid)))
		cmd.Process.Kill()
		return nil, fmt.Errorf("the session goes on, %s: %s", x.last, left)
	}
	cmd.Wait() // it was killed, or says that something was
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		left := processes.Alive(tree)
		if len(left) == 0 {
			return said, nil
		}
		if time.Since(begin) > grace {
			return nil, fmt.Errorf("left running, %s: %s", x.last, waiting(left))
		}
	}
}

// waiting says what processes wait for, as far as the kernel tells (proc_pid_wchan(5)).
func waiting(list []processes.Process) string {
	var s strings.Builder
	for _, p := range list {
		where, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", p.PID))
		fmt.Fprintf(&s, "%v in %s; ", p, where)
	}
	return s.String()
}

// listen reads what the work says until nobody can say more.
func (x *exercise) listen(out io.Reader) promised {
	said := promised{"storm": "0", "git": "-", "sqlite": "0"}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		kind, value, ok := strings.Cut(lines.Text(), " ")
		if _, known := said[kind]; !ok || !known {
			continue
		}
		said[kind] = value
		x.durable[slices.Index([]string{"storm", "git", "sqlite"}, kind)]++
	}
	return said
}

func (x *exercise) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(x.bin, name), args...)
	cmd.Dir = x.dir
	cmd.Env = append(os.Environ(), "ART_LIBEXEC_DIR="+x.bin)
	return cmd
}

func (x *exercise) check() error {
	if out, err := x.command("art-fuse", "check", x.db()).CombinedOutput(); err != nil || len(out) > 0 {
		return fmt.Errorf("check: %v: %s", err, out)
	}
	return nil
}

// keep copies the database as the killed session has left it, for those who look into a failure.
func (x *exercise) keep() error {
	old, _ := filepath.Glob(filepath.Join(x.dir, "left.db*"))
	for _, path := range old {
		os.Remove(path)
	}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(x.db() + suffix)
		if err == nil {
			err = os.WriteFile(filepath.Join(x.dir, "left.db"+suffix), data, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// verify looks for what was promised in a session that nobody kills.
func (x *exercise) verify(round int, said promised) error {
	out, err := x.command("art", "-q", "-i=false", "-m", x.workspace(), "-d", x.db(), "--",
		"sh", "verify.sh", fmt.Sprint(round), said["storm"], said["git"], said["sqlite"]).CombinedOutput()
	if err != nil || len(out) > 0 {
		return fmt.Errorf("%s, verify %v: %v: %s", x.last, said, err, out)
	}
	return nil
}

// noOrphans proves that the last opening has reaped what the killed session had left.
func (x *exercise) noOrphans() error {
	c, err := sqlite3.OpenFlags(x.db(), sqlite3.OPEN_READONLY)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, query := range []string{
		"SELECT count(*) FROM art_orphan",
		"SELECT count(*) FROM fs_data WHERE ino NOT IN (SELECT ino FROM fs_inode)",
	} {
		q, _, err := c.Prepare(query)
		if err != nil {
			return err
		}
		n := 0
		if q.Step() {
			n = q.ColumnInt(0)
		}
		if err := q.Close(); err != nil {
			return err
		}
		if n != 0 {
			return fmt.Errorf("%d rows of deleted files are left", n)
		}
	}
	return nil
}
