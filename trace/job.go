package trace

import (
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// job makes the tracer invisible in job control: signals meant for the command
// reach it, and the tracer stops and goes on with it.
type job struct {
	pidfd   int
	pid     int
	signals chan os.Signal
	done    chan struct{}
}

// forwarded are the signals that a person or a program sends to the tracer when
// it means the command.
var forwarded = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGTSTP, unix.SIGCONT, unix.SIGPIPE,
}

// start begins to forward signals to pid.
func (j *job) start(pid int) error {
	// A pidfd never names another process, as a reused pid would.
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("forward signals: %w", err)
	}
	j.pid, j.pidfd = pid, pidfd
	j.signals, j.done = make(chan os.Signal, 16), make(chan struct{})
	for _, sig := range forwarded {
		// What the caller ignores (nohup) stays ignored here and in the command.
		if !signal.Ignored(sig) {
			signal.Notify(j.signals, sig)
		}
	}
	go func() {
		defer close(j.done)
		for sig := range j.signals {
			j.forward(sig.(unix.Signal))
		}
	}()
	return nil
}

func (j *job) stop() {
	signal.Stop(j.signals)
	close(j.signals)
	<-j.done
	unix.Close(j.pidfd)
}

func (j *job) forward(sig unix.Signal) {
	switch sig {
	case unix.SIGPIPE:
		return // of our own log, where the failed write is reported
	case unix.SIGTSTP:
		// To stop is for a whole job. A second SIGTSTP that comes late would
		// stop the command again after fg.
		if j.sharesGroup() {
			return
		}
	case unix.SIGINT, unix.SIGQUIT, unix.SIGCONT:
		// The terminal, and the shell with fg, send these to the whole process
		// group, of which the command is a member.
		if j.sharesGroup() && foreground() {
			return
		}
	}
	unix.PidfdSendSignal(j.pidfd, sig, nil, 0)
}

// stopped stops the tracer after its command has been stopped from the terminal,
// so that the shell, whose child the tracer is, notices.
func (j *job) stopped(sig unix.Signal) error {
	if sig != unix.SIGSTOP && j.sharesGroup() {
		return unix.Kill(os.Getpid(), unix.SIGSTOP)
	}
	return nil
}

func (j *job) sharesGroup() bool {
	group, err := unix.Getpgid(j.pid)
	return err == nil && group == unix.Getpgrp()
}

// foreground reports whether this process belongs to the foreground process
// group of its terminal.
func foreground() bool {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
