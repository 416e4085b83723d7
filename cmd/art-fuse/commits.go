package main

import (
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/whose"
	"github.com/riverlytech/art/sqlvfs"
)

const (
	// mostUntold bounds the changes that wait for art to hear of them, and mostText their paths, in bytes.
	mostUntold, mostText = 64 << 10, 8 << 20
	// mostFiles and mostCheckpoints bound those in a message, and commitText the paths.
	mostFiles, mostCheckpoints, commitText = 256, 64, control.MaxCommit / 2
	// commitsWait bounds how long the end of a session waits for art to hear of the last ones.
	commitsWait = time.Second
)

// commits tells art what was committed. Nobody who commits waits for art.
type commits struct {
	sock     *os.File
	layers   map[string]int // their number, by their name in the root
	commands *whose.Commands
	done     chan struct{} // closed when art has heard all, or is gone

	mu          sync.Mutex
	more        *sync.Cond                    // of mu
	files       []sqlvfs.FileChange           // GUARDED_BY(mu); to be told
	text        int                           // GUARDED_BY(mu); bytes of their paths
	checkpoints []control.CommittedCheckpoint // GUARDED_BY(mu); the same
	lost        uint64                        // GUARDED_BY(mu); files that had no room there
	ended       bool                          // GUARDED_BY(mu); no more come
}

func newCommits(sock *os.File, what *control.Serve) *commits {
	c := &commits{sock: sock, layers: map[string]int{}, done: make(chan struct{})}
	c.more = sync.NewCond(&c.mu)
	for i := range what.Layers {
		c.layers[layerName(&what.Layers[i], what.Name)] = i + 1
	}
	return c
}

// begin begins to tell.
func (c *commits) begin(commands *whose.Commands) {
	if c != nil {
		c.commands = commands
		go c.tell()
	}
}

// Author implements [fs.Authors].
func (c *commits) Author(tid uint32, ino fs.Ino) (a fs.Author) {
	if c.commands != nil {
		a = c.commands.Author(tid, ino)
	}
	a.Guest = true
	return a
}

// add takes what was committed.
func (c *commits) add(e *sqlvfs.CommitEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost += uint64(e.Unknown)
	for i := range e.Files {
		if len(c.files) >= mostUntold || c.text >= mostText {
			c.lost += uint64(len(e.Files) - i)
			break
		}
		c.files = append(c.files, e.Files[i])
		c.text += len(e.Files[i].Path)
	}
	for i := range e.Checkpoints {
		p := &e.Checkpoints[i]
		if len(c.checkpoints) < mostUntold {
			c.checkpoints = append(c.checkpoints, control.CommittedCheckpoint{Number: p.ID, Kind: string(p.Kind), Label: p.Label, Made: p.Made.Time()})
		} else {
			c.lost++
		}
	}
	c.more.Signal()
}

// tell tells all, until no more come or art is gone.
func (c *commits) tell() {
	defer close(c.done)
	defer c.sock.Close()
	for {
		m := c.next()
		if m == nil || c.send(control.Marshal(m)) != nil {
			return
		}
	}
}

// next waits for what is to be told, and returns as much of it as a message has room for; nil: there is no more.
func (c *commits) next() *control.Commit {
	m, files := c.take()
	for i := range files {
		m.Files = append(m.Files, c.file(&files[i]))
	}
	return m
}

// take is next, with files that are still to be put into the message: for that, others may know more.
func (c *commits) take() (m *control.Commit, files []sqlvfs.FileChange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.files)+len(c.checkpoints) == 0 && c.lost == 0 {
		if c.ended {
			return nil, nil
		}
		c.more.Wait()
	}
	n, text := 0, 0
	for n < min(len(c.files), mostFiles) && text < commitText {
		text += len(c.files[n].Path)
		n++
	}
	files = c.files[:n]
	if c.files = c.files[n:]; len(c.files) == 0 {
		c.files = nil
	}
	c.text -= text
	m = &control.Commit{Lost: c.lost}
	c.lost = 0
	n = min(len(c.checkpoints), mostCheckpoints)
	m.Checkpoints, c.checkpoints = c.checkpoints[:n], c.checkpoints[n:]
	return m, files
}

var committedKinds = [...]struct {
	what sqlvfs.What
	kind uint32
}{
	{sqlvfs.Made, control.FileMade}, {sqlvfs.Written, control.FileWritten}, {sqlvfs.Attributes, control.FileAttributes},
	{sqlvfs.Named, control.FileNamed}, {sqlvfs.Removed, control.FileRemoved}, {sqlvfs.ByMapping, control.FileByMapping},
}

// file is a change as art is told of it.
func (c *commits) file(f *sqlvfs.FileChange) control.CommittedFile {
	m := control.CommittedFile{Path: f.Path, At: f.Last.Time()}
	top, rest, _ := strings.Cut(strings.TrimPrefix(f.Path, "/"), "/")
	if m.Layer = c.layers[top]; m.Layer > 0 {
		m.Path = "/" + rest
	}
	for _, k := range committedKinds {
		if f.What&k.what != 0 {
			m.What |= k.kind
		}
	}
	if c.commands != nil && f.Process != 0 {
		m.Command = c.commands.Number(f.Process)
	}
	return m
}

// send waits for room in the socket.
func (c *commits) send(data []byte) error {
	for {
		err := unix.Send(int(c.sock.Fd()), data, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// end waits until art has heard all, but not for long.
func (c *commits) end() {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.ended = true
	c.more.Signal()
	c.mu.Unlock()
	select {
	case <-c.done:
	case <-time.After(commitsWait):
	}
}
