package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// names are those of groups: art-session-PID-N. Those of systemd's units, which may be
// beside them, have a suffix.
const names = "art-session-"

// grace is how long a group may have processes after it was told to end them.
const grace = 2 * time.Second

// Group is a control group of a session.
type Group struct {
	place *Place
	dir   string
	lock  *os.File // on dir, as long as the session lasts
	home  *Group   // where the caller's processes are meanwhile, if they had to leave
}

// Make makes a group that keeps the limits l, which Find was given. Groups whose sessions
// were killed are removed.
func (p *Place) Make(l Limits) (_ *Group, err error) {
	p.sweep()
	g, err := p.group()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	if p.leave {
		if g.home, err = p.group(); err != nil {
			return nil, err
		}
		if err := g.home.gather(); err != nil {
			return nil, err
		}
		for _, c := range l.controllers() {
			if err := p.write(p.dir, "cgroup.subtree_control", "+"+c); err != nil {
				return nil, err
			}
		}
	}
	if l.Memory > 0 {
		if err := p.write(g.dir, "memory.max", p.atMost("memory.max", l.Memory)); err != nil {
			return nil, err
		}
		// A kernel without swap has no such file.
		if err := p.write(g.dir, "memory.swap.max", "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	if l.Processes > 0 {
		if err := p.write(g.dir, "pids.max", p.atMost("pids.max", l.Processes)); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// atMost returns value, or what is less of what the caller is held to by groups that the
// new one is not in: being moved must not widen anything.
func (p *Place) atMost(file string, value uint64) string {
	for dir := p.own; dir != p.dir && len(dir) > 1; dir = filepath.Dir(dir) {
		text, _ := os.ReadFile(filepath.Join(dir, file)) // where there is none, there is no limit
		if limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
			value = min(value, limit)
		}
	}
	return strconv.FormatUint(value, 10)
}

// group makes an empty group and locks it.
func (p *Place) group() (*Group, error) {
	for n := 0; ; n++ {
		dir := filepath.Join(p.dir, fmt.Sprintf("%s%d-%d", names, os.Getpid(), n))
		err := p.mkdir(dir)
		if errors.Is(err, os.ErrExist) && n < 100 {
			continue // of another process namespace, or this one's other
		}
		if err != nil {
			return nil, fmt.Errorf("make a control group: %w", err)
		}
		lock, err := os.Open(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue // swept away by another session, as it was not locked yet
		}
		if err != nil {
			return nil, fmt.Errorf("make a control group: %w", err)
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			if _, err := os.Stat(dir); err == nil {
				return &Group{place: p, dir: dir, lock: lock}, nil
			}
		}
		lock.Close()
	}
}

// gather moves the caller's processes here, out of the group that this one is in.
func (g *Group) gather() error {
	// What they start meanwhile is found the next time.
	for range 10 {
		pids, err := members(g.place.dir)
		if err != nil {
			return fmt.Errorf("leave the control group: %w", err)
		}
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if err := g.Add(pid); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return errors.New("leave the control group: its processes become ever more")
}

// Add moves a process into the group; what it starts is then in it, too.
func (g *Group) Add(pid int) error { return g.place.write(g.dir, "cgroup.procs", strconv.Itoa(pid)) }

// Killed returns how many processes were killed because the group's memory was used up.
func (g *Group) Killed() int {
	text, _ := os.ReadFile(filepath.Join(g.dir, "memory.events")) // there is none without a limit
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(count)) // the kernel's own number
			return n
		}
	}
	return 0
}

// Close ends what is left in the group, and removes it.
func (g *Group) Close() {
	g.place.remove(g.dir)
	if g.home != nil {
		// Back to where they were; which may not keep limits meanwhile.
		for _, c := range (Limits{1, 1}).controllers() {
			_ = g.place.write(g.place.dir, "cgroup.subtree_control", "-"+c) // may not have been on
		}
		if pids, err := members(g.home.dir); err == nil {
			for _, pid := range pids {
				_ = g.place.write(g.place.dir, "cgroup.procs", strconv.Itoa(pid)) // who has ended need not move
			}
		}
		_ = g.place.rmdir(g.home.dir)
		g.home.lock.Close()
	}
	g.lock.Close()
}

// remove ends the processes in a group, and removes it. What cannot be removed, the next
// session's sweep tries again.
func (p *Place) remove(dir string) {
	_ = p.write(dir, "cgroup.kill", "1") // since Linux 5.14; a session's processes end without
	for end := time.Now().Add(grace); p.rmdir(dir) != nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// sweep removes groups of killed sessions: nobody holds their locks.
func (p *Place) sweep() {
	dirs, _ := filepath.Glob(filepath.Join(p.dir, names+"*")) // the pattern is well formed
	for _, dir := range dirs {
		if strings.Trim(strings.TrimPrefix(filepath.Base(dir), names), "0123456789-") != "" {
			continue // somebody else's
		}
		lock, err := os.Open(dir)
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			p.remove(dir)
		}
		lock.Close()
	}
}

// write writes a setting of a group. The kernel takes what one call of write(2) holds.
func write(dir, file, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY|os.O_TRUNC, 0)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		return fmt.Errorf("set %s of a control group: %w", file, err)
	}
	return nil
}
