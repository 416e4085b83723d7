package reconcile

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// While git works in a repository of the guest, there are lock files in it (gitrepository-layout(5), *.lock): references,
// index and HEAD may not belong together yet. A pull beside a session waits a moment for it, and then leaves the repository.

const (
	gitTime  = 5 * time.Second
	gitPause = 100 * time.Millisecond
)

// awaitGit waits until git works in no repository of the guest, but not for long. load reads the database anew.
func (p *planner) awaitGit(load func() error) error {
	if p.session == nil || p.opt.Force {
		return nil
	}
	for until, told := time.Now().Add(gitTime), false; ; {
		p.gitLocks = p.findGitLocks()
		if len(p.gitLocks) == 0 || time.Now().After(until) {
			return nil
		}
		if err := p.interrupted(); err != nil {
			return err
		}
		for _, lock := range p.gitLocks {
			if !told && !p.opt.Quiet {
				fmt.Fprintf(p.opt.Stderr, "%s: git is at work in the session: waiting for %s\n", p.opt.prog(), quote.Name(lock, p.opt.StderrTerminal))
			}
			told = true
		}
		time.Sleep(gitPause)
		err := p.store.Close()
		if err == nil {
			p.store, err = p.session.Open(p.opt.DB, sqlvfs.Options{})
		}
		if err == nil {
			err = load()
		}
		if err != nil {
			return err
		}
	}
}

// findGitLocks returns a lock file of each repository in which git works, by git directory.
func (p *planner) findGitLocks() map[string]string {
	locks := map[string]string{}
	for ino, at := range p.places {
		for _, e := range p.tree.Node(ino).Children {
			if path.Ext(e.Name) != ".lock" || !p.tree.Node(e.Ino).Attr.IsRegular() {
				continue
			}
			lock := join(at, e.Name)
			if dir, in := p.gitDir(lock); dir != "" && in != "" && git.Owns(in) && !strings.HasPrefix(in, "objects/") {
				locks[dir] = lock
			}
		}
	}
	return locks
}

// atWork says why a repository is left while git works in it.
func (p *planner) atWork(dir string) error {
	lock, ok := p.gitLocks[dir]
	if !ok {
		return nil
	}
	return errors.New("git is at work in it: " + p.report.ErrName(lock) + " is there (if no git runs in the session, remove it)")
}
