package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/libexec"
)

// startingFUSE is an art-fuse that has not been told yet what to serve.
type startingFUSE struct {
	cmd   *exec.Cmd
	begun chan error // why it has not, or nil
	done  chan error // how it ended

	document *os.File // the writing end of a pipe, which art-fuse reads to its end
	files    *os.File // art's end of the socket to the host's side of single files
}

// startFUSE starts art-fuse with its end of the control socket. It then waits to be briefed, and touches nothing before:
// meanwhile art finds out what there is to serve. What fails is told then.
func (s *session) startFUSE(database string, server *os.File) {
	st := &startingFUSE{begun: make(chan error, 1), done: make(chan error, 1)}
	s.startingFUSE = st
	inherited := []*os.File{server}
	closeAll := func() {
		for _, f := range inherited {
			f.Close()
		}
	}
	cmd, err := libexec.Command("art-fuse", "serve", database)
	if err == nil {
		st.cmd = cmd
		if err = st.connect(s, &inherited); err != nil {
			err = fmt.Errorf("start art-fuse: %w", cli.Reason(err))
		}
	}
	if err != nil {
		closeAll()
		st.begun <- err
		return
	}
	cmd.Stdout = &s.report
	cmd.Stderr = os.Stderr
	if s.background != nil || s.caller != nil {
		cmd.Stderr = ownStderr{}
	}
	// Away from the terminal's signals: it ends after the guest, not with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	go func() {
		err := cmd.Start()
		closeAll()
		if err != nil {
			st.begun <- fmt.Errorf("start art-fuse: %w", cli.Reason(err))
			return
		}
		st.begun <- nil
		st.done <- cmd.Wait()
	}()
}

// connect makes what art and art-fuse talk over, and adds to inherited what is art's to close once art-fuse has it.
func (st *startingFUSE) connect(s *session, inherited *[]*os.File) error {
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
	st.cmd.Stdin = stdin
	st.cmd.ExtraFiles = []*os.File{(*inherited)[0], document, theirs}
	return nil
}

// briefFUSE tells art-fuse what to serve.
func (s *session) briefFUSE() error {
	st := s.startingFUSE
	s.startingFUSE = nil
	defer st.close()
	if err := <-st.begun; err != nil {
		return err
	}
	s.fuseDone = st.done
	if err := s.limitDatabase(st.cmd.Process.Pid); err != nil {
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
	if <-st.begun == nil {
		<-st.done
	}
}

func (st *startingFUSE) close() {
	for _, f := range []*os.File{st.document, st.files} {
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
	v.PID, v.Command = os.Getpid(), logged(s.payload.Command)
	return control.Marshal(v)
}
