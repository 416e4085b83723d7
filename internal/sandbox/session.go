package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cgroup"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/internal/sandbox/idmap"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/terminal"
	"github.com/riverlytech/art/libexec"
)

const (
	// hangupGrace is how long the guest has to end after its terminal is gone.
	hangupGrace = 2 * time.Second
	// endGrace is how long the guest may outlive an art-fuse that failed.
	endGrace = 200 * time.Millisecond
	// unmountGrace is how long the sandbox may outlive an art-fuse that ended because the mount did, or
	// before there was a guest: the guest has ended then, or is not going to begin, and only a busy
	// machine keeps that from being waited for, or why it is so from being told.
	unmountGrace = 10 * time.Second
)

// session is a running one. All fields belong to the goroutine that calls Run.
type session struct {
	*prepared
	streams  *terminal.Streams
	null     *os.File
	traceLog *os.File // where a trace goes, or nil
	redacted *os.File // what it keeps to itself, for art-trace; nil without one

	control   *os.File     // art's copy of the stage's end of the socket to art-fuse
	server    *os.File     // art-fuse's end, until that has it
	served    chan error   // tells that art-fuse serves the mount, or why not
	unserved  error        // why it does not
	attending bool         // whether that is still to be told
	fuseDone  <-chan error // tells how art-fuse ended; nil without one, and after
	fuseError error        // how it ended
	report    bytes.Buffer // what art-fuse has written by its end
	hostFiles *files.Host  // the host's side of single files; nil without
	lentHome  *os.File     // the home that is in memory, if art has files for it
	log       *os.File     // where its exit code goes, for the log of sessions; nil without one

	quiet      bool
	known      bool       // the database is the one that is kept for the workspace
	fresh      bool       // with it: it was made for this session
	flags      string     // with which art diff and art pull find the same workspace and database
	spare      int        // the id on the host for a guest of root's; 0 for the caller's own
	ids        *idmap.Map // shows the guest what is root's as its own; nil if nothing is to be shown so
	starting   *starting  // the stage, until it is briefed
	stage      *os.Process
	stageDone  <-chan error
	stageError error // how it ended
	link       *os.File
	messages   <-chan control.Received
	status     chan []byte
	diagnosis  diagnosis
	handover   *handover // the fallback's mount, until the stage has it

	guest    *guest           // the payload, or the stub until that has started it; nil until that has reported
	shell    int              // the process id of the stub, if that stays with the payload on a terminal; 0 otherwise
	job      bool             // the guest is the payload, as a job of its terminal with the stub for its parent
	group    *cgroup.Group    // the guest's, if its limits ask for one
	master   *os.File         // the guest's terminal
	refusals *refusals        // of calls; nil if nobody counts them
	ended    unix.Signal      // what ended the session before there was a guest
	failed   error            // why the session cannot go on
	hungUp   chan struct{}    // closed when the caller's terminal is gone
	kill     <-chan time.Time // when to end the guest by force
	timeout  <-chan time.Time // when its time is over
}

// Run runs a session and returns the payload's exit code, or an error if art
// itself failed.
func Run(o *Options) (code int, err error) {
	o.session = true
	err = o.choose()
	if err == nil && o.bare() {
		return cli.ExitArt, o.runBare()
	}
	if err == nil {
		err = o.begin()
	}
	if err != nil {
		return cli.ExitArt, err
	}
	tracing, err := openTrace(o)
	if err != nil {
		return cli.ExitArt, err
	}
	s, err := newSession(o.Interactive, [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, tracing)
	if err != nil {
		return cli.ExitArt, err
	}
	s.quiet, s.known, s.fresh, s.flags = o.Quiet, o.known, o.fresh, syncFlags(o)
	refusal := deviceRefusal()
	if err := s.prepare(o, refusal); err != nil {
		return cli.ExitArt, err
	}
	defer s.release()
	defer s.closeIDs()
	s.trace(tracing)
	if !o.Quiet {
		banner(o, s.prepared, s.streams.Terminal != nil)
	}
	return s.run(refusal)
}

func newSession(interactive bool, host [3]*os.File, tracing *tracing) (s *session, err error) {
	s = &session{served: make(chan error, 1), hungUp: make(chan struct{})}
	if s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("open %s: %w", os.DevNull, cli.Reason(err))
	}
	if tracing != nil {
		s.traceLog, s.diagnosis.told = tracing.log, os.Stderr
	}
	s.streams, err = terminal.Open(interactive, host)
	return s, err
}

// prepare finds out what to do, while the stage begins; with a refusal that comes later.
func (s *session) prepare(o *Options, refusal error) (err error) {
	if o.Database != "" {
		if s.server, s.control, err = libexec.Socketpair(); err != nil {
			return err
		}
	}
	if os.Getuid() == 0 {
		s.spare, _ = idmap.Spare() // art doctor says why there is none
	}
	var begun error
	if o.Database == "" || refusal == nil {
		begun = s.startStage()
	}
	if s.prepared, err = prepare(o); err == nil {
		s.payload.Terminal = s.streams.IsTerminal
		if err = begun; err == nil {
			err = s.chooseIDs()
		}
		if err != nil {
			s.prepared.failed = true
			s.release()
			s.closeIDs()
		}
	}
	if err != nil {
		s.dismiss()
	}
	return err
}

// deviceRefusal says why the stage could not open /dev/fuse, if it cannot; its
// user and groups are the caller's.
func deviceRefusal() error {
	if err := unix.Access("/dev/fuse", unix.R_OK|unix.W_OK); err != nil {
		return fmt.Errorf("open /dev/fuse: %w", err)
	}
	return nil
}

// banner says where changes go. An overlay leaves that to the end where nobody may be looking.
func banner(o *Options, p *prepared, terminal bool) {
	switch {
	case o.Database == "":
		fmt.Fprintf(os.Stderr, "art: changes go straight to %s\n", cli.Printable(p.plan.Workspace))
	case terminal:
		fmt.Fprintf(os.Stderr, "art: %s at ~/%s, changes go to %s\n", cli.Printable(p.plan.Workspace), cli.Printable(p.place), cli.Printable(p.plan.Database))
	}
	if terminal && p.home != nil && p.home.Made && o.preset != nil && len(o.preset.Seed) > 0 {
		fmt.Fprintf(os.Stderr, "art: the home %s is new: `art home seed %[1]s` brings settings of yours there\n", p.home.Name)
	}
}

// run runs what is prepared. With a refusal it does not try to mount FUSE in the
// stage.
func (s *session) run(refusal error) (int, error) {
	defer s.streams.Terminal.Restore()
	defer s.endGroup()
	if s.plainHome != nil {
		s.plainHome.Follow()
	}
	if err := s.start(refusal); err != nil {
		s.abandon()
		return cli.ExitArt, err
	}
	// Until the stage has done its work, whose time it would take to catch signals, one ends art as it
	// ends any program, and nothing outlives it.
	var signals signalSource
	defer func() { signals.stop() }()
	for s.stageDone != nil {
		select {
		case m, ok := <-s.messages:
			if !ok {
				s.messages = nil
				break
			}
			if signals.c == nil {
				signals = catchSignals()
			}
			s.handle(m)
		case sig := <-signals.c:
			s.signal(sig)
		case s.unserved = <-s.served:
			s.attending = false
			if s.unserved != nil {
				s.stage.Kill()
			}
		case err := <-s.fuseDone:
			s.fuseDone = nil
			s.fuseEnded(err)
		case <-s.hungUp:
			s.hungUp = nil
			s.hangup()
		case <-s.kill:
			s.end()
		case <-s.timeout:
			s.timeUp()
		case s.stageError = <-s.stageDone:
			s.stageEnded()
		}
	}
	return s.finish()
}

// start starts art-fuse, and has the stage do its work.
func (s *session) start(refusal error) error {
	if s.plan.Database == "" {
		return s.brief()
	}
	if refusal != nil {
		if err := s.startFUSE(); err != nil {
			return err
		}
		return s.fallBack(refusal)
	}
	s.plan.FUSE = stage.MountFUSE
	// The stage comes first, for it has more to do until the two need each other.
	if err := s.brief(); err != nil {
		return err
	}
	return s.startFUSE()
}

// abandon ends what was started of a session that cannot be.
func (s *session) abandon() {
	s.dismiss()
	if s.server != nil {
		s.closeServer()
	}
	s.streams.CloseGuest()
	s.closeControl()
	s.endLog(0, false)
	s.dropHandover()
	if s.stageDone != nil {
		s.stage.Kill()
		<-s.stageDone
	}
	if s.fuseDone != nil {
		<-s.fuseDone
	}
}

func (s *session) closeServer() {
	s.server.Close()
	s.server = nil
}

func (s *session) closeControl() {
	if s.control != nil {
		s.control.Close()
		s.control = nil
	}
}

// handle acts on a message of the stage or the stub.
func (s *session) handle(m control.Received) {
	switch m.Kind {
	case control.TakenOver:
		s.dropHandover()
	case control.MapIDs:
		s.mapIDs(m.FD)
	case control.Home:
		s.lentHome = os.NewFile(uintptr(m.FD), "home")
	case control.Leaving:
		s.require(s.fillHome())
		if !m.Ready {
			s.attend()
		}
	case control.Refused:
		s.retry(m.Err())
	case control.Failed:
		s.fail(m.Err())
	case control.Started:
		s.require(s.started(m))
	case control.Running:
		s.require(s.running(m))
	case control.Stopped:
		s.guestStopped()
	case control.Listening:
		s.require(s.listening(m))
	}
}

// require ends a session that cannot be.
func (s *session) require(err error) {
	if err != nil {
		s.fail(err)
		s.stage.Kill()
	}
}

// attend hears what art-fuse has to say, which the stage would have told otherwise.
func (s *session) attend() {
	if s.control == nil {
		return // there is none
	}
	go func(sock *os.File, heard chan<- error) {
		defer sock.Close()
		heard <- control.Await(sock, control.Ready)
	}(s.control, s.served)
	s.control, s.attending = nil, true
}

// retry starts the stage once more, this time with a mount made by fusermount3.
func (s *session) retry(why error) {
	if s.stageDone != nil {
		<-s.stageDone
		s.stageDone = nil
	}
	<-s.status
	s.status = nil // its next one makes another
	if s.messages != nil {
		for range s.messages { // up to the end, behind which nobody reads from the link
		}
	}
	s.link.Close()
	if err := s.fallBack(why); err != nil {
		s.fail(err)
	}
}

// started is called when the guest waits for its streams to be set up. On a terminal it does not wait, and is not the
// payload yet.
func (s *session) started(m control.Received) error {
	s.closeControl()
	if err := s.adoptGuest(m.PID); err != nil {
		return err
	}
	if s.fuseError != nil {
		s.fuseEnded(s.fuseError)
	}
	if m.FD >= 0 {
		// Not to block, so that it can be closed while it is being read.
		if err := unix.SetNonblock(m.FD, true); err != nil {
			return fmt.Errorf("set up the terminal: %w", err)
		}
		s.master = os.NewFile(uintptr(m.FD), "terminal")
		if err := s.streams.Terminal.Imprint(s.master); err != nil {
			return err
		}
		if err := s.streams.Terminal.Raw(); err != nil {
			return err
		}
	}
	s.streams.CloseGuest()
	hungUp := s.hungUp
	s.streams.Start(s.master, func() { close(hungUp) })
	if s.master != nil {
		s.shell = m.PID
		return nil
	}
	return s.letGo(m.PID)
}

// running is called when the payload on a terminal, whose parent the stub is, waits to begin.
func (s *session) running(m control.Received) error {
	if s.job {
		return nil
	}
	s.job = true
	if err := s.adoptGuest(m.PID); err != nil {
		return err
	}
	return s.letGo(m.PID)
}

// adoptGuest makes the process pid the one that signals are for.
func (s *session) adoptGuest(pid int) error {
	guest, err := newGuest(pid)
	if err == nil {
		if s.guest != nil {
			s.guest.close()
		}
		s.guest = guest
	}
	return err
}

// letGo limits the payload, and lets it begin.
func (s *session) letGo(pid int) error {
	if err := s.limitGuest(pid); err != nil {
		return err
	}
	return control.Send(s.link, -1, control.Message{Kind: control.Go})
}

// hangup ends the session whose terminal is gone, as a terminal's end does: the
// kernel sends SIGHUP, and what stays after that is ended by force.
func (s *session) hangup() {
	s.streams.Hangup()
	if s.job {
		s.guest.hangUp()
	}
	s.kill = time.After(hangupGrace)
}

// fuseEnded is called when art-fuse ends while the sandbox, as far as is known,
// still runs. That may be the usual end: the mount goes before the process of the
// sandbox can be waited for. What still runs after a moment is left without files.
func (s *session) fuseEnded(err error) {
	s.fuseError = err
	grace := endGrace
	if err == nil || s.guest == nil {
		grace = unmountGrace
	}
	s.kill = time.After(grace)
}

// end ends by force a guest that should have ended by itself.
func (s *session) end() {
	if s.plan.Database != "" && s.fuseDone == nil {
		s.fail(s.servedNoMore())
	}
	s.stage.Kill()
}

// servedNoMore is the failure of an art-fuse that has ended before the guest.
func (s *session) servedNoMore() error {
	return cli.WithHint(fmt.Errorf("serve the workspace: art-fuse ended: %s", ending(s.fuseError)),
		"everything up to its last commit, at most a moment ago, is safe in the database")
}

// ending says how a process ended whose Wait returned err.
func ending(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// fail keeps the first reason why the session failed.
func (s *session) fail(err error) {
	if s.failed == nil {
		s.failed = err
	}
}

// stageEnded is called when bubblewrap, or what came before it, has ended.
func (s *session) stageEnded() {
	s.stageDone = nil
	if s.messages == nil {
		return
	}
	// What was said last may not have been looked at yet. With the last process of
	// the sandbox the messages end.
	for m := range s.messages {
		s.handle(m)
	}
}

// finish is called when the sandbox has ended.
func (s *session) finish() (int, error) {
	s.streams.CloseGuest()
	var drained error
	if s.guest != nil {
		drained = s.streams.Drain()
	}
	code, known := s.exitStatus()
	if s.guest != nil && (s.failed != nil || !known || bySignal(code)) {
		s.streams.Reset() // nobody in the guest could
	}
	s.streams.Terminal.Restore()
	s.closeControl()
	s.dropHandover()
	s.endLog(code, known)
	if s.fuseDone != nil {
		s.fuseError = <-s.fuseDone
	}
	s.tellFiles()
	if s.fuseError != nil && s.guest != nil {
		s.fail(fmt.Errorf("save the changes: art-fuse ended: %w", s.fuseError))
	}
	if !s.quiet {
		s.tellRefusals()
		s.tellReport()
		if known && code == gitFatal {
			s.tellIdentity()
		}
	}
	if s.failed != nil {
		return cli.ExitArt, s.failed
	}
	if known {
		if code == cli.ExitNotFound || code == cli.ExitCannotExec {
			s.tellMissing()
			s.forget()
		}
		return code, drained
	}
	if s.ended != 0 {
		return cli.ExitSignal + int(s.ended), nil
	}
	return cli.ExitArt, s.noExitCode()
}
