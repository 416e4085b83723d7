package reconcile

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// While a session runs, its art-fuse alone writes the database. A pull then goes on beside it (package live): it decides on
// what one commit of the session has left, and what it would write into the database, the session does, as one step. What
// the guest changes meanwhile stays pending: a baseline says of which version of a row it is. A few things are different:
//
//   - Rows of files that programs may have open stay until they have not. Others, as those of directories, stay until a pull
//     after the session lets go of them. So do files in a repository of which the guest has git's own files, which
//     stay: whatever the host checks out then, the guest's index goes on to speak of these files.
//   - Rows that have content in host files, or directories that show a host directory of another path, would be broken from
//     the moment in which the host's are moved until the rows are told. So no operation of the guest goes on meanwhile.
//   - A large file is written anew, not in place.

// endSessionHint is the hint where a session that runs is in the way.
const endSessionHint = "end that session first"

// openStore opens the database, beside the session that writes it if there is one.
func (p *planner) openStore(how sqlvfs.Options) error {
	err := p.connect()
	if err == nil && p.session != nil {
		p.store, err = p.session.Open(p.opt.DB, how)
		p.beside = err == nil
		if err != nil || how.ReadOnly { // who only reads asks for no more
			p.session.Close()
			p.session = nil
		}
		if err == nil {
			return nil
		}
	}
	if err == nil || how.ReadOnly { // what the session has committed can be read in any case
		if p.store, err = sqlvfs.Open(p.opt.DB, how); err == nil && p.store.OtherProgram() != nil {
			cli.Fail(p.opt.prog(), fmt.Errorf("%s: %v", p.opt.DB, p.store.OtherProgram()))
		}
	}
	return err
}

// connect finds the session that writes the database, if one does that can be talked to.
func (p *planner) connect() error {
	if p.opt.Session == nil {
		return nil
	}
	if _, open, err := sqlvfs.Writer(p.opt.DB); err != nil || !open {
		return nil // opening the database tells why
	}
	sock, err := p.opt.Session(p.ctx)
	switch {
	case errors.Is(err, live.ErrNone):
		return nil
	case err != nil:
		return err
	}
	p.session = live.NewClient(sock)
	return nil
}

// closeStore closes the database.
func (p *planner) closeStore() error {
	var err error
	if p.store != nil { // it is not if the session has ended while git was waited for
		p.store.EndPull() // history may be thinned again, as it is by closing
		err = p.store.Close()
	}
	p.endSession()
	return err
}

// endSession ends the conversation with the session.
func (p *planner) endSession() {
	if p.session != nil {
		p.session.Close()
		p.session = nil
	}
}

// recoverJournal finds what a pull that was killed has taken from rows.
func (p *planner) recoverJournal() error {
	entries, err := sqlvfs.Query(p.store, (*sqlvfs.Tx).Journal)
	if err != nil || len(entries) == 0 || p.store.ReadOnly() {
		return err
	}
	p.removedBefore, err = recoverJournal(p.ctx, p.opt, p.host, p.store, p.name, entries)
	if p.session == nil {
		return err
	}
	if errors.Is(err, sqlvfs.ErrNotBeside) {
		return cli.WithHint(errors.New("a pull was killed half-way, and cannot be finished while the session runs"), endSessionHint+", and pull again")
	}
	if err == nil { // to see what that has changed
		err = p.store.Close()
	}
	if err == nil {
		p.store, err = p.session.Open(p.opt.DB, sqlvfs.Options{})
	}
	return err
}

// releaseBeside has a session let go of a file's row as soon as nobody uses it, for the host has the same now. A new directory comes
// to show what the host has in it, if the guest has all of that.
func (p *puller) releaseBeside(tx *sqlvfs.Tx, a *operation, row *sqlvfs.Inode, st *unix.Stat_t) {
	if p.session == nil || p.whole || !p.sameTree || a.in == nil || p.guestsRepo(a.path) {
		return
	}
	if _, in := p.gitDir(a.path); git.Owns(in) {
		return
	}
	if row.Attr.IsDir() {
		if row.Origin == nil && !a.incomplete && p.hasAllOf(a) {
			tx.SetOrigin(row, &sqlvfs.Origin{Base: p.name, Path: a.path, Number: uint64(row.Ino), Fingerprint: hostfs.Fingerprint(st), Mode: st.Mode})
		}
		return
	}
	if row.Attr.Nlink == 1 && a.in.node != nil && a.decision.Content != classify.Host {
		tx.SetRelease(sqlvfs.Release{Dir: a.in.node.Ino, Name: path.Base(a.path), Ino: row.Ino, Ctime: row.Attr.Ctime, Tree: p.id, Path: a.path,
			Mode: st.Mode, Fingerprint: hostfs.Fingerprint(st)})
	}
}

// guestsRepo reports whether a path is in a repository of which the guest has git's own files.
func (p *puller) guestsRepo(rel string) bool {
	for rel != "." {
		rel = path.Dir(rel)
		if n, _ := p.guestAt(join(rel, ".git")); n != nil || p.repoOf[rel] != nil {
			return true
		}
	}
	return p.repos[external] != nil
}

// hasAllOf reports whether the guest has, or hides, all that the host has in a directory.
func (p *puller) hasAllOf(a *operation) bool {
	d, err := p.host.read(a.path)
	if err != nil {
		return false
	}
	defer d.close()
	names, err := d.names()
	return err == nil && hasAll(p.tree, a.node, names)
}
