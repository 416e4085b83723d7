// Package filetree puts single files of the host into a tree of the database, and mount points: the guest's side of what
// package files has the host's side of.
package filetree

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/sqlvfs/inode"
)

// answerWithin is how long the host may take to write at the end of a session.
const answerWithin = 10 * time.Second

// Tree is a file system with such files.
type Tree struct {
	fs.FileSystem
	as     fs.Caller
	sock   *os.File
	logf   func(string, ...any)
	files  []*file
	made   []files.Place // in the order in which they were made
	cache  fs.Cache
	change chan struct{} // holds a token if something has changed in the tree
	answer chan files.Message
	backs  chan func() // have the tree go back
	stop   chan struct{}
	ended  chan struct{}
}

// file is what is known of a file of the host's. It belongs to one goroutine at a time.
type file struct {
	files.File
	agreed, sent state // with the host, the guest's that was sent; zero: nothing
	sending      bool
	failed       bool
}

// state is what changes when an entry of the tree is written or replaced.
type state struct {
	ino          fs.Ino
	mode         uint32
	size         int64
	mtime, ctime inode.Timespec
}

func stateOf(e *fs.Entry) state {
	return state{e.Ino, e.Attr.Mode, e.Attr.Size, e.Attr.Mtime, e.Attr.Ctime}
}

func (s state) regular() bool { return s.mode&unix.S_IFMT == unix.S_IFREG }

// Begin puts mount points and files into a tree that is not served yet. The files arrive over sock. as is who owns them.
func Begin(tree fs.FileSystem, as fs.Caller, places []files.Place, list []files.File, sock *os.File, logf func(string, ...any)) (*Tree, error) {
	t := &Tree{
		FileSystem: tree, as: as, sock: sock, logf: logf, cache: noCache{},
		change: make(chan struct{}, 1), answer: make(chan files.Message), backs: make(chan func()), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	for _, p := range places {
		if err := t.makePlace(p); err != nil {
			return nil, hinted(fmt.Errorf("make a place for the mount at ~/%s: %w", p.Path, err))
		}
	}
	for _, f := range list {
		t.files = append(t.files, &file{File: f})
	}
	for range list {
		m := files.Receive(sock, len(list))
		if m.Err != nil {
			return nil, m.Err
		}
		f := t.files[m.File]
		err := t.begin(f, m.FD)
		m.Close()
		if err != nil {
			return nil, hinted(fmt.Errorf("show the host's file at ~/%s: %w", f.Path, err))
		}
	}
	return t, nil
}

// hinted says what to do where a guest has put something on the way.
func hinted(err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EEXIST) {
		err = cli.WithHint(err, "a guest has put something else in its way: start a session without this mount, and remove that there")
	}
	return err
}

// makePlace makes a mount point, and the directories above it.
func (t *Tree) makePlace(p files.Place) error {
	if dir := path.Dir(p.Path); dir != "." {
		if err := t.makePlace(files.Place{Path: dir, Directory: true}); err != nil {
			return err
		}
	}
	parent, e, done, err := t.walk(p.Path)
	defer done()
	if err != nil || e.Ino != 0 {
		if err == nil && !p.Directory && isPlace(&e) {
			t.made = append(t.made, p)
		}
		return err // what else is there, the mount finds
	}
	if p.Directory {
		e, err = t.FileSystem.Mkdir(t.as, parent, path.Base(p.Path), 0o755)
	} else {
		e, err = t.FileSystem.Mknod(t.as, parent, path.Base(p.Path), unix.S_IFREG|0o444, 0)
	}
	if err == nil {
		t.Forget(e.Ino, 1)
		t.made = append(t.made, p)
	}
	return err
}

// walk finds a path, and the directory that it is in. done gives back what it holds of them. Ino is 0 if there is none.
func (t *Tree) walk(name string) (parent fs.Ino, e fs.Entry, done func(), err error) {
	var held []fs.Ino
	done = func() {
		for _, ino := range held {
			t.Forget(ino, 1)
		}
	}
	at := fs.RootIno
	for name := range strings.SplitSeq(name, "/") {
		if parent = at; len(held) > 0 && e.Attr.Mode&unix.S_IFMT != unix.S_IFDIR {
			return 0, fs.Entry{}, done, syscall.ENOTDIR
		}
		if e.Ino == 0 && len(held) > 0 {
			return 0, fs.Entry{}, done, syscall.ENOENT
		}
		if e, err = t.Lookup(at, name); err != nil {
			return 0, fs.Entry{}, done, err
		}
		if e.Ino != 0 {
			held = append(held, e.Ino)
		}
		at = e.Ino
	}
	return parent, e, done, nil
}

// find is walk for who only wants to know what is there; nothing where there is no such directory.
func (t *Tree) find(name string) (state, error) {
	_, e, done, err := t.walk(name)
	done()
	if errors.Is(err, syscall.ENOENT) {
		err = nil
	}
	return stateOf(&e), err
}

// read reads a file that is held.
func (t *Tree) read(ino fs.Ino) ([]byte, error) {
	data := make([]byte, 0, 64<<10)
	for len(data) <= files.MaxSize {
		data = slices.Grow(data, 64<<10)
		n, err := t.Read(ino, data[len(data):len(data)+64<<10], int64(len(data)))
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return data, nil
		}
		data = data[:len(data)+n]
	}
	return nil, files.ErrTooLarge
}

// Connect implements fs.FileSystem. From now on both sides are followed.
func (t *Tree) Connect(c fs.Cache) (disconnect func()) {
	t.cache = c
	if len(t.files) > 0 {
		go files.ReceiveAll(t.sock, len(t.files), t.answer)
		go t.run()
	} else {
		close(t.ended)
	}
	return t.FileSystem.Connect(c)
}

// End takes away what Begin has made, and what the host has by now. The tree was served, and is no more.
func (t *Tree) End() {
	close(t.stop)
	<-t.ended
	timeout := time.After(answerWithin)
	for {
		// What was being sent may have been written again by the end.
		if t.check(); !slices.ContainsFunc(t.files, func(f *file) bool { return f.sending }) {
			break
		}
		select {
		case m := <-t.answer:
			if m.Kind == "file" {
				m.Close()
				continue
			}
			t.handle(&m)
		case <-timeout:
			t.logf("the host's files are not written: it takes too long")
			return
		}
	}
	for _, f := range t.files {
		now, err := t.find(f.Path)
		switch {
		case err != nil:
		case now.ino == 0 && f.agreed.ino != 0 && !f.Overlay:
			_ = t.send("removed", f, -1) // or nobody is there to be told
		case now.ino != 0 && !now.regular() && !f.Overlay:
			_ = t.send("other", f, -1)
		case now == f.agreed && !f.failed:
			t.remove(files.Place{Path: f.Path})
		}
	}
	for _, p := range slices.Backward(t.made) {
		t.remove(p)
	}
}

// remove takes a file away, or a directory if it is empty.
func (t *Tree) remove(p files.Place) {
	parent, e, done, err := t.walk(p.Path)
	defer done()
	switch {
	case err != nil || e.Ino == 0:
	case p.Directory:
		_ = t.FileSystem.Rmdir(t.as, parent, path.Base(p.Path)) // it may hold something by now
	case !stateOf(&e).regular():
	default:
		_ = t.FileSystem.Unlink(t.as, parent, path.Base(p.Path)) // or it stays
	}
}

// noCache is the Cache of a tree that is not served.
type noCache struct{}

func (noCache) InvalidateEntry(fs.Ino, string) error { return nil }
func (noCache) InvalidateInode(fs.Ino) error         { return nil }
func (noCache) ExpireEntry(fs.Ino, string) error     { return nil }
func (noCache) InvalidateAttr(fs.Ino) error          { return nil }
func (noCache) Prune([]fs.Ino) error                 { return nil }
