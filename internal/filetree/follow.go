package filetree

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/files"
)

// What changes in the tree is looked at a moment later: nobody waits for it.

// run follows both sides until it is stopped.
func (t *Tree) run() {
	defer close(t.ended)
	for {
		select {
		case <-t.stop:
			return
		case m := <-t.answer:
			t.handle(&m)
			continue
		case back := <-t.backs:
			back()
			continue
		case <-t.change:
		}
		files.Settle(t.change, t.stop)
		t.check()
	}
}

// check sends what the guest has written.
func (t *Tree) check() {
	for _, f := range t.files {
		if f.Overlay || f.sending {
			continue
		}
		_, e, done, err := t.walk(f.Path)
		now := stateOf(&e)
		if err == nil && now.regular() && now != f.agreed && (now != f.sent || !f.failed) {
			t.offer(f, now)
		}
		done()
	}
}

// offer sends what is in a file of the tree, which is held. Once is enough to say that it cannot be: some write all the
// time.
func (t *Tree) offer(f *file, now state) {
	err := t.write(f, now.ino)
	if err != nil && !f.failed {
		t.logf("~/%s stays in the database: %v", f.Path, err)
	}
	f.sent, f.failed = now, f.failed || err != nil
}

// write sends what is in a file of the tree.
func (t *Tree) write(f *file, ino fs.Ino) error {
	data, err := t.read(ino)
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("file", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	m := os.NewFile(uintptr(fd), "file")
	defer m.Close()
	if _, err := m.Write(data); err != nil {
		return err
	}
	err = t.send("wrote", f, fd)
	f.sending = err == nil
	return err
}

func (t *Tree) send(kind string, f *file, fd int) error {
	for i := range t.files {
		if t.files[i] == f {
			return files.Send(t.sock, fd, kind, i)
		}
	}
	return nil
}

// handle acts on a message of the host's side.
func (t *Tree) handle(m *files.Message) {
	if m.Err != nil { // art has ended
		for _, f := range t.files {
			f.failed = f.failed || f.sending
			f.sending = false
		}
		return
	}
	defer m.Close()
	f := t.files[m.File]
	switch m.Kind {
	case "done":
		f.agreed, f.sending, f.failed = f.sent, false, false
		t.touch() // it may have been written meanwhile
	case "failed":
		f.sending, f.failed = false, true
		t.touch()
	case "file":
		t.renew(f, m.FD)
	}
}

// renew takes over what the host has, unless the guest has changed its own: that counts more, and is sent.
func (t *Tree) renew(f *file, from *os.File) {
	now, err := t.find(f.Path)
	if err != nil || from == nil || now != f.agreed || f.sending {
		return
	}
	data, st, err := files.Content(from)
	if err == nil {
		err = t.put(f, data, &st)
	}
	if err != nil {
		t.logf("show the host's file at ~/%s: %v", f.Path, err)
	}
}

// touch has the tree looked at.
func (t *Tree) touch() {
	select {
	case t.change <- struct{}{}:
	default:
	}
}

// Setattr implements fs.FileSystem.
func (t *Tree) Setattr(c fs.Caller, ino fs.Ino, set fs.SetAttr) (fs.Entry, error) {
	defer t.touch()
	return t.FileSystem.Setattr(c, ino, set)
}

// Mknod implements fs.FileSystem.
func (t *Tree) Mknod(c fs.Caller, parent fs.Ino, name string, mode, rdev uint32) (fs.Entry, error) {
	defer t.touch()
	return t.FileSystem.Mknod(c, parent, name, mode, rdev)
}

// Link implements fs.FileSystem.
func (t *Tree) Link(c fs.Caller, ino, parent fs.Ino, name string) (fs.Entry, error) {
	defer t.touch()
	return t.FileSystem.Link(c, ino, parent, name)
}

// Rename implements fs.FileSystem.
func (t *Tree) Rename(c fs.Caller, oldParent fs.Ino, oldName string, newParent fs.Ino, newName string, flags uint32) error {
	defer t.touch()
	return t.FileSystem.Rename(c, oldParent, oldName, newParent, newName, flags)
}

// Write implements fs.FileSystem.
func (t *Tree) Write(c fs.Caller, ino fs.Ino, p []byte, off int64) error {
	defer t.touch()
	return t.FileSystem.Write(c, ino, p, off)
}

// Append implements fs.FileSystem.
func (t *Tree) Append(c fs.Caller, ino fs.Ino, p []byte, off int64) error {
	defer t.touch()
	return t.FileSystem.Append(c, ino, p, off)
}

// CopyRange implements fs.FileSystem.
func (t *Tree) CopyRange(c fs.Caller, from fs.Ino, off int64, to fs.Ino, at, length int64) (int64, error) {
	defer t.touch()
	return t.FileSystem.CopyRange(c, from, off, to, at, length)
}

// Allocate implements fs.FileSystem.
func (t *Tree) Allocate(c fs.Caller, ino fs.Ino, mode uint32, off, length int64) error {
	defer t.touch()
	return t.FileSystem.Allocate(c, ino, mode, off, length)
}
