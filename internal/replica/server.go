package replica

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/pkg/sftp"

	"github.com/riverlytech/art/internal/replica/place"
	"github.com/riverlytech/art/internal/replica/ssh"
)

// server is one that speaks SFTP, asked over one connection, which is made anew where it was lost.
type server struct {
	host       string
	dial       func() (connection, error)
	connecting chan struct{} // holds a value while somebody connects
	received   atomic.Int64  // bytes of answers

	mu     sync.Mutex
	client *sftp.Client // nil: there is no connection. GUARDED_BY(mu)
}

// connection is one, or what may become one.
type connection interface {
	io.ReadWriteCloser
	Says() string // why it has ended
}

// countedReader counts what is read.
type countedReader struct {
	io.Reader
	count *atomic.Int64
}

func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.count.Add(int64(n))
	return n, err
}

const (
	// mostListed is how many bytes a list may have: of a hundred thousand names.
	mostListed = 64 << 20
	// patience is how long an answer is waited for whose caller waits no more: with the connection, others would lose theirs.
	patience = 2 * time.Second
	// mostLinks is how often a link is tried to a name that is not there: who was faster may have made and removed it meanwhile.
	mostLinks = 5
	// atOnce is how many requests for parts of one file, of 32 KiB, are under way at once. Litestream reads several files at once.
	atOnce = 16
)

// reached is a server twice: on a slow line, what is short would have to wait for parts of files otherwise.
type reached struct{ objects, files *server }

// servers are those that this process has reached: it has one place mostly.
var servers struct {
	sync.Mutex
	all map[ssh.Address]reached
}

// Reach begins to reach a place that is on a server, before the process gives up the right to start programs.
func Reach(text string) error {
	u, err := place.ParseAbove(text)
	if err != nil || u.Scheme != place.SFTP {
		return err
	}
	_, err = serverOf(u)
	return err
}

func serverOf(u *url.URL) (reached, error) {
	a := ssh.Address{Host: u.Hostname(), Port: u.Port(), User: u.User.Username()}
	servers.Lock()
	defer servers.Unlock()
	if r, ok := servers.all[a]; ok {
		return r, nil
	}
	starter, err := ssh.Reach(a)
	if err != nil {
		return reached{}, err
	}
	dial := func() (connection, error) { return starter.Connect() }
	r := reached{newServer(a.Host, dial), newServer(a.Host, dial)}
	if servers.all == nil {
		servers.all = map[ssh.Address]reached{}
	}
	servers.all[a] = r
	return r, nil
}

func newServer(host string, dial func() (connection, error)) *server {
	return &server{host: host, dial: dial, connecting: make(chan struct{}, 1)}
}

// openServer returns a place on a server.
func openServer(u *url.URL) (*store, error) {
	r, err := serverOf(u)
	if err != nil {
		return nil, err
	}
	root := place.Remote(u)
	return &store{directory{r.objects, root}, func(dir string) (litestream.ReplicaClient, error) {
		return &serverFiles{server: r.files, path: path.Join(root, dir)}, nil
	}}, nil
}

// do has f ask the server. What was not answered when ctx ends is waited for a little longer, and then given up with the connection.
func (s *server) do(ctx context.Context, f func(c *sftp.Client) error) error {
	c, err := s.connected(ctx)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		select {
		case <-done:
		case <-time.After(patience):
			c.Close()
		}
	}()
	err = f(c)
	if err != nil && ctx.Err() != nil {
		return s.unanswered(ctx)
	}
	return s.explain(err)
}

// unanswered says why an answer was not waited for.
func (s *server) unanswered(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &silentError{s.host}
}

// silentError says that a server does not answer.
type silentError struct{ host string }

func (e *silentError) Error() string { return e.host + " does not answer" }
func (e *silentError) Unwrap() error { return context.DeadlineExceeded }

// connected returns the connection, or a new one.
func (s *server) connected(ctx context.Context) (*sftp.Client, error) {
	select {
	case s.connecting <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.connecting }()
	s.mu.Lock()
	c := s.client
	s.mu.Unlock()
	if c != nil {
		return c, nil
	}
	pipe, err := s.dial()
	if errors.Is(err, ssh.ErrMissing) {
		return nil, &refused{err.Error(), "install OpenSSH's client, or name another place"}
	}
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { pipe.Close() })()
	c, err = sftp.NewClientPipe(countedReader{pipe, &s.received}, pipe, sftp.UseConcurrentWrites(true), sftp.UseFstat(true), sftp.MaxConcurrentRequestsPerFile(atOnce))
	if err != nil {
		pipe.Close()
		if ctx.Err() != nil {
			return nil, s.unanswered(ctx)
		}
		return nil, s.unreached(pipe.Says(), err)
	}
	s.mu.Lock()
	s.client = c
	s.mu.Unlock()
	go func() {
		_ = c.Wait()
		pipe.Close()
		s.mu.Lock()
		s.client = nil
		s.mu.Unlock()
	}()
	return c, nil
}

// unreached says why there is no connection. ssh has only words for that: mostly the first line has the cause, and the last the consequence.
func (s *server) unreached(says string, err error) error {
	lines := strings.Split(says, "\n")
	first, last := strings.TrimSpace(lines[0]), strings.TrimSpace(lines[len(lines)-1])
	switch {
	case strings.Contains(says, "REMOTE HOST IDENTIFICATION HAS CHANGED"):
		return &refused{"the key of " + s.host + " is not the one that ssh knows: it was set up anew, or another machine answers", "find out which, before you remove the old key with ssh-keygen -R"}
	case strings.Contains(says, "ost key verification failed"):
		return &refused{"ssh does not know the key of " + s.host, "log in there once with ssh, and compare the key"}
	case strings.Contains(strings.ToLower(says), "bad configuration option"), strings.Contains(says, "Bad port"):
		return &refused{"ssh says: " + first, "ssh has to work there by itself"}
	case strings.Contains(says, "Permission denied ("):
		return &refused{"ssh is not let in: " + last, "it has to work without a question: have a key for it in your agent, or one without a passphrase in ~/.ssh"}
	case strings.Contains(says, "subsystem request failed"):
		return &refused{s.host + " has no SFTP", "switch it on there (Subsystem sftp in sshd_config), or name another place"}
	case first != last:
		return fmt.Errorf("ssh says: %s: %s", first, last)
	case says != "":
		return errors.New("ssh says: " + says)
	case strings.Contains(err.Error(), "receiving version packet"):
		return &refused{s.host + " answers with something else than SFTP", "what a login there prints by itself (in .bashrc, or a forced command) has to go"}
	}
	return errors.New("the connection to " + s.host + " was lost")
}

// explain says in plain words what a server has answered. What Litestream goes by stays as it is.
func (s *server) explain(err error) error {
	var status *sftp.StatusError
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrExist), errors.Is(err, io.EOF):
		return err
	case errors.Is(err, fs.ErrPermission):
		return &refused{s.host + " does not let this user do that there", "name another user, as in sftp://USER@HOST, or a directory of that user's"}
	case errors.Is(err, sftp.ErrSSHFxConnectionLost):
		return errors.New("the connection was lost")
	case !errors.As(err, &status):
		return err
	case status.FxCode() == sftp.ErrSSHFxFailure: // which is all that servers say of most errors
		return errors.New(s.host + " has failed to do that: its disk may be full")
	}
	return fmt.Errorf("%s says: %w", s.host, err)
}

// ask is do for what has a short answer.
func (s *server) ask(ctx context.Context, f func(c *sftp.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return s.do(ctx, f)
}

func (s *server) list(ctx context.Context, dir string) (entries []fs.DirEntry, err error) {
	err = s.ask(ctx, func(c *sftp.Client) error {
		done := s.bound(c)
		all, err := c.ReadDir(dir)
		if done() {
			return &refused{dir + " there has more than is ever looked at", "name another place"}
		}
		for _, info := range all {
			// Others lead elsewhere.
			if name := info.Name(); name != "" && name != "." && name != ".." && !strings.Contains(name, "/") {
				entries = append(entries, fs.FileInfoToDirEntry(info))
			}
		}
		return err
	})
	return entries, err
}

// bound ends the connection if a server sends too much for a list, until done is called, which tells whether it was that. Other answers are few of
// these bytes.
func (s *server) bound(c *sftp.Client) (done func() bool) {
	began, end, ended := s.received.Load(), make(chan struct{}), make(chan bool, 1)
	go func() {
		for every := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-end:
				every.Stop()
				ended <- false
				return
			case <-every.C:
			}
			if s.received.Load()-began > mostListed {
				c.Close()
				every.Stop()
				ended <- true
				return
			}
		}
	}()
	return func() bool {
		close(end)
		return <-ended
	}
}

func (s *server) read(ctx context.Context, name string) (data []byte, err error) {
	err = s.ask(ctx, func(c *sftp.Client) error {
		f, err := openRegular(c, name)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err = readObject(path.Base(name), f)
		return err
	})
	return data, err
}

// openRegular opens a file. What is none may keep a server for ever that opens it.
func openRegular(c *sftp.Client, name string) (*sftp.File, error) {
	info, err := c.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	return c.Open(name)
}

func (s *server) write(ctx context.Context, dir string, data []byte) (name string, err error) {
	name = path.Join(dir, unlinked+rand.Text())
	err = s.ask(ctx, func(c *sftp.Client) error {
		return create(c, name, func(f *sftp.File) error {
			_, err := f.Write(data)
			return err
		})
	})
	return name, err
}

func (s *server) found(ctx context.Context, dir string) error {
	return s.ask(ctx, func(c *sftp.Client) error { return makeDirectory(c, dir) })
}

// create makes a file that write writes, for its owner alone, and durably where the server knows how.
func create(c *sftp.Client, name string, write func(*sftp.File) error) error {
	f, err := c.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	if err = f.Chmod(0o600); err == nil {
		err = write(f)
	}
	if _, can := c.HasExtension("fsync@openssh.com"); err == nil && can {
		err = f.Sync()
	}
	err = cmp.Or(err, f.Close())
	if err != nil {
		_ = c.Remove(name) // or it stays, and is not looked at
	}
	return err
}

// makeDirectory makes the directory of a place, for its owner alone. That in which it lies has to be there, as with [place.Make].
func makeDirectory(c *sftp.Client, dir string) error {
	err := c.Mkdir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &refused{"the directory " + path.Dir(dir) + " does not exist there", "make it, or mount what belongs there"}
	}
	if err == nil {
		return c.Chmod(dir, 0o700)
	}
	if info, serr := c.Stat(dir); serr == nil && info.IsDir() {
		return nil // another session has just made it
	}
	return err
}

func (s *server) link(ctx context.Context, name, other string) error {
	return s.ask(ctx, func(c *sftp.Client) error {
		if _, can := c.HasExtension("hardlink@openssh.com"); !can {
			return &refused{s.host + " cannot make hard links (hardlink@openssh.com), by which sessions are kept apart there", "name another place"}
		}
		var err error
		for range mostLinks {
			if err = c.Link(name, other); err == nil || errors.Is(err, sftp.ErrSSHFxConnectionLost) {
				return err
			}
			// What the server says of a name that is there is no more than of any failure.
			if _, serr := c.Lstat(other); serr == nil {
				return fs.ErrExist
			}
		}
		return err
	})
}

func (s *server) remove(ctx context.Context, name string) error {
	return s.ask(ctx, func(c *sftp.Client) error { return c.Remove(name) })
}
