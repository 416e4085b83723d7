package history

import (
	"fmt"
	"os"

	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// A database that a session writes has one writer, which stays. So the merge is made in a scratch fork of what the tree is now: what that
// has of its own then is what the merge changes. The writer takes it over, if nothing of it has changed meanwhile.

// makeScratch makes the scratch fork, and returns the checkpoint that it is of.
func (m *merger) makeScratch() (at string, err error) {
	path := workspace.Scratch(m.opt.DB, "merge", 0)
	c, held, err := m.opt.scratch(m.ctx, path, "")
	if err != nil {
		return "", err
	}
	m.scratch, m.held = path, held
	m.store, err = sqlvfs.Open(path, sqlvfs.Options{})
	return fmt.Sprint(c.ID), err
}

// hand has the session's writer take the merge over.
func (m *merger) hand() error {
	err := m.store.Close()
	m.store = nil
	if err == nil {
		err = sqlvfs.FoldLog(m.scratch)
	}
	if err != nil {
		return err
	}
	f, err := os.Open(m.scratch)
	if err != nil {
		return err
	}
	defer f.Close()
	sock, err := m.opt.Session(m.ctx)
	if err != nil {
		return err
	}
	client := live.NewClient(sock)
	defer client.Close()
	_, err = client.Merge(f)
	return err
}
