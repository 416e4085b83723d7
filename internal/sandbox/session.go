package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cgroup"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/events"
	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/internal/notify"
	"github.com/riverlytech/art/internal/processes"
	"github.com/riverlytech/art/internal/sandbox/idmap"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/spawn"
	"github.com/riverlytech/art/internal/terminal"
	"github.com/riverlytech/art/libexec"
)

// session is a running one. All fields belong to the goroutine that calls Run.
type session struct {
	*prepared
	streams  *terminal.Streams
	null     *os.File
	traceLog *os.File // where a trace goes, or nil
	redacted *os.File // what it keeps to itself, for art-trace; nil without one

	control       *os.File           // the socket to art-fuse, which the stage has, too
	commandSocket *os.File           // to art-fuse, for commands, until they are learnt
	commandRing   *control.Ring      // of what art-fuse is told of them
	served        chan error         // tells that art-fuse serves the mount, or why not
	unserved      error              // why it does not
	attending     bool               // whether that is still to be told
	fuseDone      <-chan error       // tells how art-fuse ended; nil without one, and after
	fuseError     error              // how it ended
	report        bytes.Buffer       // what art-fuse has written by its end
	hostFiles     *files.Host        // the host's side of single files; nil without
	lentHome      *os.File           // the home that is in memory, if art has files for it
	log           *os.File           // where its exit code goes, for the log of sessions; nil without one
	registry      registry           // what others find of it
	mapped        processes.Mappings // what the guest has mapped

	sshAgent sshAgent
	network  network // that of a guest that reaches names alone
	ports    ports   // of the guest's that are reached on the host
	replica  replica // of the database, at another place
	signals  signalSource

	events     *events.Stream  // what happens; nil: nobody is told
	commits    <-chan struct{} // closed when all of that is told which art-fuse has committed; nil: it tells nothing
	background *background     // what it is in the background; nil in the foreground
	notifier   *notify.Notifier
	caller     *caller // who has started it in the foreground, on a terminal that it may leave; or nil

	quiet        bool
	known        bool          // the database is the one that is kept for the workspace
	fresh        bool          // with it: it was made for this session
	flags        string        // with which art diff and art pull find the same workspace and database
	spare        int           // the id on the host for a guest of root's; 0 for the caller's own
	ids          *idmap.Map    // shows the guest what is root's as its own; nil if nothing is to be shown so
	starting     *starting     // the stage, until it is briefed
	startingFUSE *startingFUSE // the same of art-fuse
	stage        *spawn.Process
	stageDone    <-chan error
	stageError   error // how it ended
	link         *os.File
	messages     <-chan control.Received
	exitReport   *exitReport
	diagnosis    diagnosis
	handover     *handover // the fallback's mount, until the stage has it

	guest    *guest           // the payload, or the stub until that has started it; nil until that has reported
	shell    int              // the process id of the stub, if that stays with the payload on a terminal; 0 otherwise
	job      bool             // the guest is the payload, as a job of its terminal with the stub for its parent
	group    *cgroup.Group    // the guest's, if its limits ask for one
	master   *os.File         // the guest's terminal
	refusals *refusals        // of calls
	calls    *calls           // answers for the filter of calls
	thread   *guestThread     // starts the stage; nil until it does
	self     *os.File         // art's program, as the guest may have it
	ruleset  *os.File         // what keeps the first program from sockets of the host, or nil
	joinable *joinable        // for programs that join the guest; nil if none can
	begun    func()           // called when the first program is about to begin, unless it is nil
	ended    unix.Signal      // what ended the session before there was a guest
	failed   error            // why the session cannot go on
	left     left             // by the command when it ended
	because  string           // what has ended the session, if that was not its command
	reason   string           // what the log says of that
	sent     sent             // the signal that the command was sent last
	hungUp   chan struct{}    // closed when the caller's terminal is gone
	kill     <-chan time.Time // when to end the guest by force
	timeout  <-chan time.Time // when its time is over
}

// Run runs a session and returns the payload's exit code, or an error if art
// itself failed.
func Run(options *Options) (code int, err error) {
	o := &request{Options: *options, session: true}
	err = o.choose()
	if err == nil && o.Background {
		err = o.checkBackground()
	}
	if err == nil && o.Systemd == "true" && !o.Background && !o.Attended {
		err = cli.WithHint(errors.New("make the session a unit of systemd: it is in the foreground, and cannot be detached"),
			"start it with -b, or by systemd-run --user --scope")
	}
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
	told, err := openEvents(o)
	if err != nil {
		return cli.ExitArt, err
	}
	s, err := newSession(o.Interactive && !o.Background, [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, tracing)
	switch {
	case err != nil:
	case o.Background:
		err = s.goBackground(o)
	case o.Attended:
		err = s.goForeground(o)
	}
	if err != nil {
		return cli.ExitArt, err
	}
	defer func() {
		if err == nil {
			s.endForeground(code)
		}
	}()
	s.quiet, s.known, s.fresh, s.flags = o.Quiet, o.known, o.fresh, syncFlags(o)
	refusal := deviceRefusal()
	if err := o.fetchRemote(); err != nil {
		return cli.ExitArt, err
	}
	if o.remote != "" {
		if _, err := os.Lstat(o.Database); errors.Is(err, fs.ErrNotExist) {
			s.fresh = true // it is new, since there was no copy either
		}
	}
	defer o.releaseRemote(s)
	if err := s.prepare(o, refusal); err != nil {
		return cli.ExitArt, err
	}
	defer s.release()
	defer s.closeIDs()
	s.trace(tracing)
	s.notifyUser()
	s.tellEvents(told)
	if !o.Quiet {
		banner(o, s.prepared, s.streams.OnTerminal())
	}
	return s.run(refusal)
}

func newSession(interactive bool, host [3]*os.File, tracing *tracing) (s *session, err error) {
	s = &session{served: make(chan error, 1), hungUp: make(chan struct{}), registry: newRegistry(), refusals: &refusals{}}
	s.calls = &calls{refusals: s.refusals}
	if s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("open %s: %w", os.DevNull, cli.Reason(err))
	}
	if tracing != nil {
		s.traceLog, s.diagnosis.told = tracing.log, os.Stderr
	}
	s.streams, err = terminal.Open(interactive, host)
	s.refusals.terminal = s.streams != nil && s.streams.Terminal != nil
	return s, err
}

// prepare finds out what to do, while the stage begins; with a refusal that comes later.
func (s *session) prepare(o *request, refusal error) (err error) {
	var server *os.File
	if o.Database != "" {
		if o.database, err = databasePath(o.Database); err != nil {
			return err
		}
		if server, s.control, err = libexec.Socketpair(); err != nil {
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
	if server != nil {
		s.startFUSE(o.database, server, o.Events != "")
	}
	if s.prepared, err = prepare(o); err == nil {
		s.payload.Terminal, s.payload.Background = s.streams.IsTerminal, !s.streams.Foreground()
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
func banner(o *request, p *prepared, terminal bool) {
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
func (s *session) run(refusal error) (code int, err error) {
	defer func() {
		close(s.registry.over)
		s.background.tellEnd(code, s.reason, err) // who is told of the end finds it in the log
		s.unregister(code, err)
		s.notifyEnd(code)
		s.endEvents(code, err)
	}()
	defer s.streams.Terminal.Restore()
	defer s.endGroup()
	defer s.endThread()
	if s.plainHome != nil {
		s.plainHome.Follow()
	}
	if err := s.start(refusal); err != nil {
		s.abandon()
		return cli.ExitArt, err
	}
	// Until the stage has done its work, whose time it would take to catch signals, one ends art as it
	// ends any program, and nothing outlives it.
	defer func() { s.signals.stop() }()
	said, leaving := s.fromCaller()
	for s.stageDone != nil {
		select {
		case m, ok := <-s.heard():
			if !ok {
				s.messages = nil
				break
			}
			if s.signals.c == nil {
				s.signals = s.catch()
			}
			s.handle(m)
		case sig := <-s.signals.c:
			if !s.attended() {
				s.signal(sig)
			}
		case m := <-said:
			s.hear(m)
		case answer := <-leaving:
			answer <- s.tryDetach()
		case s.unserved = <-s.served:
			s.attending = false
			if s.unserved != nil {
				s.stage.Kill()
			} else {
				s.require(s.briefReplica())
			}
		case err := <-s.fuseDone:
			s.fuseDone = nil
			s.fuseEnded(err)
		case err := <-s.network.done:
			s.netEnded(err)
		case err := <-s.ports.done:
			s.portsEnded(err)
		case err := <-s.replica.done:
			s.replicaEnded(err)
		case <-s.replica.known:
			s.replicaKnown(true)
		case <-s.replica.patience:
			s.replicaKnown(false)
		case <-s.replica.again:
			s.require(s.replicaAgainNow())
		case <-s.hungUp:
			s.hungUp = nil
			s.hangup()
		case <-s.cameForward():
			s.resume()
		case <-s.kill:
			s.end()
		case <-s.timeout:
			s.timeUp()
		case <-s.left.alone:
			s.left.alone = nil
			s.commandEnded()
		case <-s.left.look:
			s.commandEnded()
		case answer := <-s.left.answer:
			s.answered(answer)
		case ask := <-s.registry.asks:
			ask()
		case s.stageError = <-s.stageDone:
			s.stageEnded()
		}
	}
	return s.finish()
}

// start has art-fuse and the stage do their work.
func (s *session) start(refusal error) error {
	if s.plan.Database == "" {
		return s.brief()
	}
	if refusal != nil {
		if err := s.briefFUSE(); err != nil {
			return err
		}
		if err := s.startReplica(); err != nil {
			return err
		}
		return s.fallBack(refusal)
	}
	s.plan.FUSE = stage.MountFUSE
	// The stage comes first, for it has more to do until the two need each other.
	if err := s.brief(); err != nil {
		return err
	}
	if err := s.briefFUSE(); err != nil {
		return err
	}
	return s.startReplica()
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
	s.endPorts()
	s.endNet() // art-fuse is to keep what the guest has done, before it is told of the end
	s.closeControl()
	s.dropHandover()
	s.reason = s.why(code, known)
	s.endLog(code, known, s.reason)
	if s.fuseDone != nil {
		s.fuseError = <-s.fuseDone
	}
	vain := s.vain(code, known)
	s.endReplica(vain)
	s.tellFiles()
	s.endAgent()
	s.tellLost()
	if s.fuseError != nil && s.guest != nil {
		s.logLost()
		s.fail(fmt.Errorf("save the changes: art-fuse ended: %w", s.fuseError))
	}
	s.tellLeft()
	if !s.quiet {
		s.tellRefusals()
		s.tellUnlearnt()
		s.tellDenied()
		s.tellLearned()
		s.tellUnsigned()
		s.tellReport()
		if known && code == gitFatal {
			s.tellIdentity()
		}
	}
	if vain {
		s.forget()
	}
	if s.failed != nil {
		return cli.ExitArt, s.failed
	}
	if known {
		if vain {
			s.tellMissing()
		}
		return code, drained
	}
	if s.ended != 0 {
		return cli.ExitSignal + int(s.ended), nil
	}
	return cli.ExitArt, s.noExitCode()
}
