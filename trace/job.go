package trace

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace/decode"
)

// job makes the tracer invisible in job control: signals meant for the command
// reach it, and the tracer stops and goes on with it.
type job struct {
	pidfd   int
	pid     int
	keeper  bool // hears what is sent to the process group, and says so by heard
	signals chan os.Signal
	done    chan struct{}

	mu sync.Mutex
	// direct is when others' signals have reached the command, for each that we have not got too; merged is
	// how many of ours were not sent because others' were on their way. GUARDED_BY(mu)
	direct map[unix.Signal][]time.Time
	merged map[unix.Signal]int
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
	j.direct, j.merged = map[unix.Signal][]time.Time{}, map[unix.Signal]int{}
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
	}
	if j.reached(sig) {
		return
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

// echoTime is how long after a signal to the command the same one to us is taken for the same
// event: what is sent to the whole process group, by a terminal, a shell or kill(2).
const echoTime = time.Second

// reached reports whether a signal that we have got has reached the command by itself, or will.
func (j *job) reached(sig unix.Signal) bool {
	if j.keeper {
		return j.toGroup(sig)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.take(sig) {
		return true
	}
	waiting, err := strconv.ParseUint(statusField(j.pid, "ShdPnd"), 16, 64)
	if err != nil || waiting>>(sig-1)&1 == 0 {
		return false
	}
	j.merged[sig]++
	return true
}

// toGroup reports whether a signal that we have got was sent to the process group, and the command is in that. The keeper is
// there, too, and may hear of it a little later.
func (j *job) toGroup(sig unix.Signal) bool {
	const looks, pause = 25, 2 * time.Millisecond
	for range looks {
		if !j.sharesGroup() {
			return false
		}
		j.mu.Lock()
		found := j.take(sig)
		j.mu.Unlock()
		if found {
			return true
		}
		time.Sleep(pause)
	}
	return false
}

// heard notes that the keeper has got a signal.
func (j *job) heard(sig unix.Signal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.note(sig)
}

// note records that a signal has reached the command. The caller holds mu.
func (j *job) note(sig unix.Signal) {
	const most = 64 // of others' signals that never reach us
	if direct := j.direct[sig]; len(direct) < most {
		j.direct[sig] = append(direct, time.Now())
	}
}

// take removes the record of a signal that has reached the command. The caller holds mu.
func (j *job) take(sig unix.Signal) (found bool) {
	now := time.Now()
	direct := slices.DeleteFunc(j.direct[sig], func(t time.Time) bool { return now.Sub(t) > echoTime })
	if found = len(direct) > 0; found {
		direct = direct[1:]
	}
	j.direct[sig] = direct
	return found
}

// echo reports whether a signal that is about to be delivered to a thread is one of ours that was sent
// while another's was on its way.
func (j *job) echo(pid int, info *decode.Siginfo) bool {
	sig := unix.Signal(info.Signal())
	if !slices.Contains(forwarded, os.Signal(sig)) || statusField(pid, "Tgid") != strconv.Itoa(j.pid) {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case info.Sender() == os.Getpid():
		return j.take(sig)
	case j.merged[sig] > 0:
		j.merged[sig]--
	default:
		j.note(sig)
	}
	return false
}
