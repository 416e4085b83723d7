package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/spawn"
	"github.com/riverlytech/art/libexec"
)

// startingFUSE is an art-fuse that has not been told yet what to serve.
type startingFUSE struct {
	process
	refused error // why it has not begun

	document *os.File // the writing end of a pipe, which art-fuse reads to its end
	files    *os.File // art's end of the socket to the host's side of single files
	commands *os.File // that of the socket for commands
	ring     *control.Ring
	commits  *os.File // that of the socket for what is committed; nil: nobody is told
}

// timerSlack is that of art-fuse. While there are requests, a thread of Go's sleeps for 20 microseconds at a time, to look for goroutines that
// wait for a processor (sysmon in runtime/proc.go). That took a fifth of art-fuse's processor time.
const timerSlack = time.Millisecond

// startFUSE starts art-fuse with its end of the control socket. It then waits to be briefed, and touches nothing before:
// meanwhile art finds out what there is to serve. What fails is told then.
func (s *session) startFUSE(database string, server *os.File, commits bool) {
	st := &startingFUSE{}
	s.startingFUSE = st
	inherited := []*os.File{server}
	defer func() { closeFiles(inherited) }()
	cmd, err := libexec.Command("art-fuse", "serve", database)
	if err != nil {
		st.refused = err
		return
	}
	c := &spawn.Command{
		Path: cmd.Path, Args: cmd.Args, Env: cmd.Env,
		Setsid:     true, // away from the terminal's signals: it ends after the guest, not with it
		TimerSlack: timerSlack,
	}
	if err = st.connect(s, c, &inherited); err == nil && commits {
		err = st.connectCommits(c, &inherited)
	}
	if err == nil {
		err = st.begin(c)
	}
	if err != nil {
		st.refused = fmt.Errorf("start art-fuse: %w", cli.Reason(err))
	}
}

// connect makes what art and art-fuse talk over, and adds to inherited what is art's to close once art-fuse has it.
func (st *startingFUSE) connect(s *session, c *spawn.Command, inherited *[]*os.File) error {
	stdin, log, err := os.Pipe()
	if err != nil {
		return err
	}
	s.log = log
	*inherited = append(*inherited, stdin)
	document, w, err := os.Pipe()
	if err != nil {
		return err
	}
	st.document = w
	*inherited = append(*inherited, document)
	ours, theirs, err := libexec.Socketpair()
	if err != nil {
		return err
	}
	st.files = ours
	*inherited = append(*inherited, theirs)
	ours, commands, err := libexec.Socketpair()
	if err != nil {
		return err
	}
	st.commands = ours
	*inherited = append(*inherited, commands)
	ring, err := memoryFile("commands")
	if err != nil {
		return err
	}
	*inherited = append(*inherited, ring)
	if own, err := duplicate(ring); err != nil {
		return err
	} else if st.ring, err = control.MapRing(own); err != nil {
		return err
	}
	stdout, err := st.add(&s.report)
	stderr := os.Stderr
	if err == nil && (s.background != nil || s.caller != nil) {
		stderr, err = st.add(ownStderr{})
	}
	c.Files = []*os.File{stdin, stdout, stderr, (*inherited)[0], document, theirs, commands, ring}
	return err
}

// connectCommits makes what art-fuse tells over what it has committed.
func (st *startingFUSE) connectCommits(c *spawn.Command, inherited *[]*os.File) error {
	ours, theirs, err := libexec.Socketpair()
	if err == nil {
		st.commits = ours
		*inherited = append(*inherited, theirs)
		c.Files = append(c.Files, theirs)
	}
	return err
}

// briefFUSE tells art-fuse what to serve.
func (s *session) briefFUSE() error {
	st := s.startingFUSE
	s.startingFUSE = nil
	defer st.close()
	if st.refused != nil {
		return st.refused
	}
	s.fuseDone = st.done
	if s.learns {
		s.commandSocket, s.commandRing, st.commands = st.commands, st.ring, nil
	}
	if st.commits != nil && s.events != nil {
		s.commits = s.tellCommits(st.commits)
		st.commits = nil
	}
	if err := s.limitDatabase(st.Pid); err != nil {
		return err
	}
	if err := s.serveFiles(st); err != nil {
		return fmt.Errorf("start art-fuse: %w", err)
	}
	// One that has ended has said why, and the stage hears of it.
	if _, err := st.document.Write(s.serveDocument()); err != nil && !errors.Is(err, unix.EPIPE) {
		return fmt.Errorf("start art-fuse: %w", cli.Reason(err))
	}
	return nil
}

// dismissFUSE ends an art-fuse that is not going to be briefed, if there is one.
func (s *session) dismissFUSE() {
	st := s.startingFUSE
	if st == nil {
		return
	}
	s.startingFUSE = nil
	st.close()
	if st.refused == nil {
		<-st.done
	}
}

func (st *startingFUSE) close() {
	for _, f := range []*os.File{st.document, st.files, st.commands, st.commits} {
		if f != nil {
			f.Close()
		}
	}
}

// serveDocument completes what art-fuse is told.
func (s *session) serveDocument() []byte {
	v := &s.serve
	if v.Kept = control.KeepWhole; s.limits["kept"].Origin != "" {
		v.Kept = s.limits["kept"].Value
	}
	if len(v.Layers) > 0 {
		v.LayerHide = slices.Concat(s.plan.Hide, v.LayerHide)
	}
	if s.within() {
		v.Tracked = s.repository.Index()
	}
	for _, f := range s.files {
		v.Files = append(v.Files, f.File)
	}
	v.Flows, v.Commands, v.Commits = s.net != nil, s.learns, s.commits != nil
	v.PID, v.Command = os.Getpid(), logged(s.payload.Command)
	return control.Marshal(v)
}
