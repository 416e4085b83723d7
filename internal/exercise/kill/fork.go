package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// mostForks bounds a family: each fork of a fork reads from all above it.
const mostForks = 3

// member is a database or a fork, and what its last session was told to be durable.
type member struct {
	name  string
	round int // of that session; 0: there was none in it
	said  promised
}

// fresh begins a new family.
func (x *exercise) fresh() {
	x.family = []*member{{name: "kill.db"}}
	x.now = x.family[0]
}

// fork makes a fork of the member of this round, and kills that half of the time.
func (x *exercise) fork() error {
	if len(x.family) > mostForks {
		return nil
	}
	m := &member{name: fmt.Sprintf("fork%d.db", x.rounds), round: x.now.round, said: x.now.said}
	file := filepath.Join(x.dir, m.name)
	var out bytes.Buffer
	cmd := x.command("art", "fork", file, "-d", x.db())
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	killed := x.rnd.IntN(2) == 0
	if killed {
		time.Sleep(time.Duration(x.rnd.IntN(60)) * time.Millisecond)
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	err := cmd.Wait()
	if err != nil && !killed {
		return fmt.Errorf("fork of %s: %w: %s", x.now.name, err, out.Bytes())
	}
	if err := x.check(); err != nil {
		return fmt.Errorf("%s after a fork of it was made: %w", x.now.name, err)
	}
	switch _, there := os.Stat(file); {
	case err == nil && there != nil:
		return fmt.Errorf("%s was said to be made, and is not there", m.name)
	case errors.Is(there, os.ErrNotExist):
		return nil
	}
	x.family = append(x.family, m)
	x.forks++
	of := x.now
	defer func() { x.now = of }()
	x.now = m
	if err := x.check(); err != nil {
		return fmt.Errorf("%s, just made of %s: %w", m.name, of.name, err)
	}
	return nil
}

// others looks at a database in which no session was this round. What was durable there still is, whatever was done to those that it is a
// fork of, and to its forks.
func (x *exercise) others() error {
	other := x.family[x.rnd.IntN(len(x.family))]
	if other == x.now || other.round == 0 {
		return nil
	}
	was := x.now
	defer func() { x.now = was }()
	x.now = other
	err := x.check()
	if err == nil {
		err = x.verify(other.round, other.said)
	}
	if err != nil {
		return fmt.Errorf("%s, which nothing was done to: %w", other.name, err)
	}
	return nil
}
