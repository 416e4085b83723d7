package reconcile

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/staging"
)

// stage writes everything that is going to be renamed into place: files, and directories that are new
// with all that is in them. When it returns nil, the workspace is still as it was, all that could be
// read was read, and the data is on the disk. The error is one that ends the run.
func (p *puller) stage() error {
	var todo []*operation
	var files int
	var bytes int64
	for _, a := range p.ops {
		switch {
		case a.left:
		case a.do == write:
			bytes += a.attr.Size
			fallthrough
		case a.do == symlink || a.do == hardLink:
			files++
			fallthrough
		case a.do == mkdir:
			todo = append(todo, a)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	p.report.Phase("pull")
	p.report.Expect(files, bytes)
	var err error
	if p.staging, err = staging.New(p.host.dir); err != nil {
		return p.host.failed(err)
	}
	if err := p.stageAll(todo); err != nil {
		return err
	}
	// One call for all files, instead of an fsync for each: a rename must never become durable
	// before the content does.
	if err := syncfs(int(p.staging.Fd())); err != nil {
		return p.host.failed(fmt.Errorf("sync: %w", err))
	}
	return nil
}

// stageAll makes directories in order, has files and symbolic links written by several goroutines, and
// then links those that have another name.
func (p *puller) stageAll(todo []*operation) error {
	trees := treeParents{p: p, known: map[*item]bool{}}
	writers := p.startWriters()
	var links []*operation
	for _, a := range todo {
		if writers.stopped() || p.interrupted() != nil {
			break
		}
		if a.in.left && a.in.there != unix.S_IFDIR {
			continue // that was reported
		}
		if a.do == mkdir {
			if !trees.startsIn(a) {
				continue
			}
			p.nameStaged(a)
			if p.stageDir(a) != nil {
				a.tmp, a.tree = "", nil // it will be reported when the directory cannot be made in its place
			}
			continue
		}
		if a.patch = p.patches(a); a.patch {
			p.report.Add(1, a.attr.Size)
			continue
		}
		p.nameStaged(a)
		if a.do == hardLink {
			links = append(links, a)
			continue
		}
		writers.write(a)
	}
	if err := writers.wait(); err != nil {
		return p.host.failed(fmt.Errorf("sync: %w", err))
	}
	for _, a := range todo {
		if err := p.staged(a); err != nil {
			return err
		}
	}
	for _, a := range links {
		a.err = p.stageHardLink(a)
		if err := p.staged(a); err != nil {
			return err
		}
		p.report.Add(1, 0)
	}
	return p.interrupted()
}

// nameStaged gives an action its name in the staging directory: in a new directory, the one that it
// will have.
func (p *puller) nameStaged(a *operation) {
	if in := a.in.op; in != nil && in.tree != nil && a.there == 0 {
		a.tmp, a.tree = in.tmp+"/"+path.Base(a.path), in.tree
		return
	}
	a.tmp = p.staging.Next()
	if a.do == mkdir {
		a.tree = a
	}
}

// staged looks at how an action went. The error is one that ends the run.
func (p *puller) staged(a *operation) error {
	if a.err == nil {
		return nil
	}
	if !errors.Is(a.err, unix.EEXIST) { // that is another's, in a database that has a name twice
		p.staging.Discard(a.tmp)
	}
	a.tmp = ""
	if fatal(a.err) {
		return cli.WithHint(fmt.Errorf("%s: %w", p.hostPath(a.path), a.err), "nothing was changed in the workspace")
	}
	p.fail(a.item, a.err)
	return nil
}

// leaveStaging leaves the staging directory to the next pull, if the journal tells of it.
func (p *puller) leaveStaging() {
	if p.journaled && p.staging != nil {
		p.staging.Close()
		p.staging = nil
	}
}

// endStaging removes the staging directory, if there is one.
func (p *puller) endStaging() {
	if p.staging != nil {
		p.staging.Remove()
		p.staging = nil
	}
}

// stageDir makes a directory.
func (p *puller) stageDir(a *operation) error {
	d, name, err := p.staging.Parent(a.tmp)
	if err != nil {
		return err
	}
	defer p.staging.Done(d)
	return p.makeDir(d, name, a)
}

// makeDir makes a directory, for the time being one that we can use. Its mode is not only set at the
// end: should this run be killed, nobody would know that it was us.
func (p *puller) makeDir(d *os.File, name string, a *operation) error {
	mode := a.attr.Mode&modeBits | 0o700
	if err := unix.Mkdirat(int(d.Fd()), name, mode); err != nil {
		return err
	}
	f, err := hostfs.Open(d, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := hostfs.Stat(f)
	if err != nil {
		return err
	}
	left, err := p.inherit(f, a.path, a.attr.Mode&modeBits)
	if err != nil {
		return err
	}
	a.attr.Mode = a.attr.Mode&^modeBits | left
	mode = left | 0o700 | st.Mode&unix.S_ISGID // that bit it has inherited
	if st, err = hostfs.Stat(f); err != nil || st.Mode&0o7777 == mode {
		return err
	}
	return hostfs.Chmod(f, mode)
}

// stageHardLink gives a file another name: one that is staged too, or one that is in place.
func (p *puller) stageHardLink(a *operation) error {
	first := a.other
	to, tmp, err := p.staging.Parent(a.tmp)
	if err != nil {
		return err
	}
	defer p.staging.Done(to)
	tmpOf := ""
	if o := first.op; o != nil {
		defer func() { a.hash, o.is = o.hash, nil }() // it has one name more
		tmpOf = o.tmp
	}
	if first.left {
		return fmt.Errorf("%s could not be written", p.hostPath(first.path))
	}
	if tmpOf != "" {
		from, name, err := p.staging.Parent(tmpOf)
		if err != nil {
			return err
		}
		defer p.staging.Done(from)
		return unix.Linkat(int(from.Fd()), name, int(to.Fd()), tmp, 0)
	}
	from, name, err := p.host.openParent(first.path)
	if err != nil {
		return err
	}
	defer from.Close()
	// Flags 0: a symbolic link is not followed (linkat(2)).
	if err := unix.Linkat(int(from.Fd()), name, int(to.Fd()), tmp, 0); err != nil {
		return err
	}
	st, err := hostfs.StatAt(to, tmp)
	if err == nil && (st.Dev != first.now.Dev || st.Ino != first.now.Ino) {
		err = errChanging
	}
	return err
}
