package sandbox

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/replica/place"
	"github.com/riverlytech/art/internal/spawn"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/libexec"
)

// A copy of the database at another place is made by art-replicate while the session writes it. It begins when art-fuse serves, since then there
// is a database, and ends after art-fuse, whose last words it copies too. The command waits until it is known whether the place is the session's:
// what is refused is refused before anything has run.

const (
	// noReplica is what --replicate says to have none.
	noReplica = "none"
	// behindMost is how far a copy may be behind before that is told.
	behindMost = 10 * time.Second
	// replicaPatience is how long the command waits for a place that does not answer: it may be away.
	replicaPatience = 5 * time.Second
	// replicaAgain is when art-replicate is started again that was killed.
	replicaAgain = time.Second
)

// replica is a copy that is being made.
type replica struct {
	process  *spawn.Process
	life     *os.File         // art-replicate copies what is left, and ends, when it is closed
	document *os.File         // the writing end of the pipe for what it is to copy; nil once that is told
	done     <-chan error     // tells how it ended; nil without one, and after
	again    <-chan time.Time // when to start another one; nil: not at all
	heard    *replicaHeard

	known    <-chan struct{}   // closed when it is known whether the place is the session's, or does not answer; nil: nobody waits for that
	waiting  *control.Received // the guest, which has started, and waits for that
	patience <-chan time.Time  // when it waits no longer
	decided  bool              // it does not wait, or not any more
	whole    bool              // at the end the copy had all
	kept     bool              // the database has a copy, or may have one, that was to go with it
}

// replicaHeard is what art-replicate has said.
type replicaHeard struct {
	all   chan struct{} // closed when that is all
	known chan struct{} // closed when that tells whether the place can be had

	mu      sync.Mutex
	last    control.ReplicaState // GUARDED_BY(mu)
	claimed bool                 // the place was the session's. GUARDED_BY(mu)
	held    bool                 // that another session may have it was told. GUARDED_BY(mu)
	behind  bool                 // that it is behind was told. GUARDED_BY(mu)
	ending  bool                 // the session is over: what it waits for is told otherwise. GUARDED_BY(mu)
}

// useReplica finds out whether the database is to be copied, and where to.
func (p *prepared) useReplica(o *request, settings *config.Settings) error {
	where := settings.Replicate
	if o.TakeOver && (p.plan.Database == "" || where.Value == "" || where.Value == noReplica) {
		return cli.WithHint(errors.New("take a copy over: the session is not copied anywhere"), "name the place with --replicate URL")
	}
	if settings.Flatten.Origin == "--flatten" && o.Flatten == "true" && (p.plan.Database == "" || where.Value == "" || where.Value == noReplica) {
		return cli.WithHint(errors.New("make the database self-contained: the session is not copied anywhere"),
			"name the place with --replicate URL; art-fuse flatten does it without a copy")
	}
	switch flag := where.Origin == "--replicate"; {
	case where.Value == "" || where.Value == noReplica:
		return nil
	case p.plan.Database == "" && flag:
		return cli.WithHint(errors.New("replicate the database: the session has none"), "art run has one, or name one with --db DB")
	case p.plan.Database == "":
		return nil
	case !flag: // it is of all databases
		var err error
		if where.Value, err = place.Below(where.Value, databaseName(p.plan.Database)); err != nil {
			return fmt.Errorf("%s: %w", where.Origin, err)
		}
	}
	if err := place.Make(where.Value); err != nil {
		return cli.WithHint(fmt.Errorf("replicate the database to %s: %w", cli.Printable(where.Value), err), hintOf(err))
	}
	if _, err := place.Parse(where.Value); err != nil {
		return fmt.Errorf("replicate the database: %w", err)
	}
	if _, err := libexec.Find("art-replicate"); err != nil {
		return err
	}
	kept, err := keptOf(p.plan.Database, where.Value)
	if err != nil {
		return err
	}
	p.replicate = &control.Replica{
		Database: p.plan.Database, Name: o.databaseName(), Workspace: paths.Resolve(p.plan.Workspace), Place: where.Value,
		Kept: kept, Token: cmp.Or(o.token, rand.Text()), TakeOver: o.TakeOver,
		LeaveForks: where.Origin != "--replicate",
	}
	p.serve.Replicated, p.serve.LeaveForks = true, p.replicate.LeaveForks
	p.serve.Flatten = settings.Flatten.Value == "true"
	p.serve.TellHost, p.serve.Terminal = !o.Quiet, !o.Quiet && term.IsTerminal(int(os.Stderr.Fd()))
	return nil
}

// keptOf is the directory for what is kept here of a database that is copied to a place.
func keptOf(database, place string) (string, error) {
	state := config.StateDir(os.Getenv)
	if state == "" {
		return "", cli.WithHint(errors.New("replicate the database: neither XDG_STATE_HOME nor HOME is set"), "set HOME")
	}
	sum := sha256.Sum256([]byte(database + "\x00" + place))
	return filepath.Join(state, "replicas", hex.EncodeToString(sum[:16])), nil
}

// nameRemote has a database that is named by the URL of its copy be one here, which is replicated there.
func (o *request) nameRemote(user *config.Settings) error {
	if !place.IsURL(o.Database) {
		return nil
	}
	u, err := place.Parse(o.Database)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	if o.Replicate != "" && o.Replicate != o.Database {
		return cli.WithHint(errors.New("open the database: --db names the place of its copy, and --replicate another one"), "leave one of the two out")
	}
	databases, err := workspace.Directory(user)
	if err == nil {
		err = workspace.Make(databases)
	}
	if err != nil {
		return err
	}
	o.remote, o.Replicate, o.token = o.Database, o.Database, rand.Text()
	if own := (request{Options: o.Options, user: user}); own.findOwn(user) == nil && own.isCopiedTo(o.remote) {
		o.Workspace, o.Database, o.sub, o.known = own.Workspace, own.Database, own.sub, true
		return nil
	}
	sum := sha256.Sum256([]byte(u.String()))
	o.Database = filepath.Join(databases, path.Base(u.Path)+"-"+hex.EncodeToString(sum[:4])+".db")
	return nil
}

// findOwn finds the database of the workspace.
func (o *request) findOwn(user *config.Settings) error {
	o.Database, o.Adopt = "", false
	return o.findDatabase(user)
}

// isCopiedTo tells whether the database says that it is copied to a place.
func (o *request) isCopiedTo(url string) bool {
	if _, err := os.Lstat(o.Database); err != nil {
		return false
	}
	cmd, err := replicator(o.Workspace, "copied", o.Database, url)
	return err == nil && cmd.Run() == nil // what else there is to say of it comes later
}

// fetchRemote brings it back.
func (o *request) fetchRemote() error {
	if o.remote == "" {
		return nil
	}
	database, err := databasePath(o.Database)
	if err != nil {
		return err
	}
	kept, err := keptOf(database, o.remote)
	if err != nil {
		return err
	}
	cmd, err := replicator(o.Workspace, "fetch", o.remote, o.Database, kept, o.token, strconv.FormatBool(o.TakeOver), strconv.FormatBool(o.Quiet))
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	failure, err := cmd.Output()
	if err == nil {
		return nil
	}
	if text, hint, told := strings.Cut(string(failure), "\n"); told {
		if hint = strings.TrimSpace(hint); hint == "" {
			if _, err := os.Lstat(database); err == nil {
				hint = "what is here goes on without the copy: art run --replicate none -d " + shellWord(database)
			}
		}
		return cli.WithHint(errors.New(text), hint)
	}
	return fmt.Errorf("open the database %s: art-replicate ended: %w", cli.Printable(o.remote), err)
}

// releaseRemote gives back the place that was taken for the session, if that has not come to use it.
func (o *request) releaseRemote(s *session) {
	if o.remote == "" || s.guest != nil || s.replica.claimed() {
		return
	}
	if cmd, err := replicator(o.Workspace, "release", o.remote, o.token); err == nil {
		_ = cmd.Run() // or the lease runs out
	}
}

func hintOf(err error) string {
	var hinted cli.Hinted
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}

// databaseName is what the session's is called there: as the place that it was named by.
func (o *request) databaseName() string {
	if u, err := place.Parse(o.remote); err == nil {
		return path.Base(u.Path)
	}
	return databaseName(o.database)
}

// databaseName is what a database is called at a place for all of them.
func databaseName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".db") }

// replicaHidden are the directories of copies on this host: of this database, and of all others.
func (p *prepared) replicaHidden(all ...*config.Settings) (dirs []string, err error) {
	for _, s := range all {
		if s == nil {
			continue
		}
		dir := place.Directory(s.Replicate.Value)
		switch {
		case dir == "":
		case paths.Resolve(dir) == paths.Resolve(p.plan.Workspace):
			return nil, cli.WithHint(fmt.Errorf("%s: the directory for copies, %s, is the workspace: copies are hidden from the guest, and nothing would be left",
				cli.Printable(s.Replicate.Origin), cli.Printable(dir)), "name another directory")
		default:
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// replicator is art-replicate. It starts the caller's ssh, which is to be none of the workspace's.
func replicator(workspace string, args ...string) (*exec.Cmd, error) {
	cmd, err := libexec.Command("art-replicate", args...)
	if err == nil {
		workspace, err = filepath.Abs(workspace)
	}
	if err == nil {
		cmd.Env = slices.DeleteFunc(cmd.Env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
		cmd.Env = append(cmd.Env, "PATH="+strings.Join(hostPath(workspace), ":"))
	}
	return cmd, err
}

// startReplica starts art-replicate, if there is something to copy. It then waits to be briefed, and touches nothing before.
func (s *session) startReplica() (err error) {
	s.replica.again = nil
	if s.replicate == nil || s.replica.done != nil {
		return nil
	}
	cmd, err := replicator(s.plan.Workspace, "copy")
	if err != nil {
		return err
	}
	var files []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				files = append(files, r, w)
			}
		}
		return r, w
	}
	stdin, life := pipe()
	said, stdout := pipe()
	what, document := pipe()
	if err != nil {
		closeFiles(files)
		return fmt.Errorf("start art-replicate: %w", err)
	}
	p, stderr := &process{}, os.Stderr
	if s.background != nil || s.caller != nil {
		stderr, err = p.add(ownStderr{})
	}
	if err == nil {
		err = p.begin(&spawn.Command{
			Path: cmd.Path, Args: cmd.Args, Env: cmd.Env,
			Files:  []*os.File{stdin, stdout, stderr, what},
			Closed: true,
			Setsid: true, // away from the terminal's signals
		})
	}
	closeFiles([]*os.File{stdin, stdout, what})
	if err != nil {
		closeFiles([]*os.File{life, said, document})
		return fmt.Errorf("start art-replicate: %w", cli.Reason(err))
	}
	r := &s.replica
	r.heard = &replicaHeard{all: make(chan struct{}), known: make(chan struct{})}
	r.process, r.life, r.document, r.done = p.Process, life, document, p.done
	if !r.decided {
		r.known = r.heard.known
	}
	go s.hearReplica(said, r.heard, !r.decided)
	return nil
}

// briefReplica tells art-replicate what to copy, if it waits for that: the database is there.
func (s *session) briefReplica() error {
	document := s.replica.document
	if document == nil {
		return nil
	}
	s.replica.document = nil
	defer document.Close()
	if _, err := document.Write(control.Marshal(s.replicate)); err != nil && !errors.Is(err, unix.EPIPE) { // one that has ended is told
		return fmt.Errorf("start art-replicate: %w", cli.Reason(err))
	}
	return nil
}

// replicaAgainNow starts and briefs another one.
func (s *session) replicaAgainNow() error {
	err := s.startReplica()
	if err == nil {
		err = s.briefReplica()
	}
	return err
}

// awaitsReplica keeps the guest, which has started, until it is known whether the database can be copied. It returns false if it is.
func (s *session) awaitsReplica(guest control.Received) bool {
	if s.replicate == nil || s.replica.decided {
		return false
	}
	s.replica.waiting, s.replica.patience = &guest, time.After(replicaPatience)
	return true
}

// replicaKnown is called when it is known whether the place can be had; or for too long not.
func (s *session) replicaKnown(known bool) {
	r := &s.replica
	if r.decided {
		return
	}
	r.heard.mu.Lock()
	last := r.heard.last
	r.heard.mu.Unlock()
	switch {
	case known && last.Failed:
		r.known, r.patience = nil, nil // its end is that of the session
		return
	case !known && last.Held:
		r.patience = time.After(replicaPatience) // it answers
		return
	}
	r.known, r.patience, r.decided = nil, nil, true
	if guest := r.waiting; guest != nil {
		r.waiting = nil
		s.require(s.started(*guest))
	}
}

// claimed tells whether the place was the session's.
func (r *replica) claimed() bool {
	if r.heard == nil {
		return false
	}
	r.heard.mu.Lock()
	defer r.heard.mu.Unlock()
	return r.heard.claimed
}

// hearReplica hears what art-replicate says, and tells what somebody should know. On a terminal, which is the command's, that is for the end, but for
// what it says first, before the command has begun.
func (s *session) hearReplica(from *os.File, heard *replicaHeard, first bool) {
	known := sync.OnceFunc(func() { close(heard.known) })
	defer known()
	defer close(heard.all)
	defer from.Close()
	quiet := s.quiet || s.streams.Terminal != nil
	for {
		var state control.ReplicaState
		frame, err := control.ReadFrame(from)
		if err != nil || control.Unmarshal(frame, &state) != nil {
			return
		}
		heard.mu.Lock()
		was, held := heard.behind, heard.held
		late := time.Duration(state.Behind) * time.Millisecond
		heard.last, heard.behind = state, !state.Failed && (late >= behindMost || was && late >= time.Second)
		heard.claimed, heard.held = heard.claimed || state.Claimed, held || state.Held
		now := heard.behind
		if heard.ending {
			now = was
		}
		heard.mu.Unlock()
		if !state.Left {
			s.registry.mu.Lock()
			s.registry.copy = &state
			s.registry.mu.Unlock()
		}
		if first && (state.Claimed || state.Failed || state.Left || state.Why != "" && !state.Held) {
			known()
			first = false
		}
		switch {
		case first && state.Held && !held && !s.quiet:
			fmt.Fprintf(os.Stderr, "art: %s; waiting for half a minute, whether it lives\n", cli.Printable(state.Why))
		case now == was || first:
		case now:
			text := fmt.Sprintf("the copy at %s is behind by %v: %s", cli.Printable(s.replicate.Place), late.Round(time.Second), why(&state))
			if s.notifier != nil {
				s.notifier.Tell(text)
			}
			if !quiet {
				fmt.Fprintf(os.Stderr, "art: %s; the session goes on\n", text)
			}
		case !quiet && !state.Failed:
			fmt.Fprintf(os.Stderr, "art: the copy at %s is not behind any more\n", cli.Printable(s.replicate.Place))
		}
	}
}

// copied says where the database is copied to, and how far that is. The registry is locked.
func (s *session) copied() (place string, state control.ReplicaState) {
	switch {
	case s.replicate == nil:
		return "", state
	case s.registry.copy != nil:
		return s.replicate.Place, *s.registry.copy
	}
	state.Behind, state.Why = uint64(max(1, time.Since(s.registry.info.Started).Milliseconds())), "it has just begun"
	return s.replicate.Place, state
}

func why(state *control.ReplicaState) string {
	if state.Why == "" {
		return "the place takes it no faster"
	}
	return cli.Printable(state.Why)
}

// replicaEnded is called when art-replicate has ended before the session. One that was refused ends the session too, as what cannot be had; of
// one that was killed there is another.
func (s *session) replicaEnded(err error) {
	s.replica.done = nil
	s.replica.life.Close()
	failure := s.replicaFailure(err)
	switch {
	case failure != nil && s.guest == nil: // what it has ended has not begun
		s.require(failure)
	case failure != nil:
		s.endedBy("its database could not be copied")
		s.require(failure)
	case err == nil && s.replica.heard.last.Left:
		s.replicate = nil
		s.replicaKnown(true)
	default:
		s.replica.again = time.After(replicaAgain)
	}
}

// replicaFailure is why art-replicate could not copy; nil: it was killed, or has copied all.
func (s *session) replicaFailure(err error) error {
	<-s.replica.heard.all
	state := &s.replica.heard.last // nobody else has it any more
	if err == nil || !state.Failed {
		return nil
	}
	return cli.WithHint(fmt.Errorf("replicate the database to %s: %s", cli.Printable(s.replicate.Place), why(state)), cli.Printable(state.Hint))
}
