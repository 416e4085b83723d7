package git

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Finish moves references, the index and HEAD, after the objects were imported and the files were placed.
// Each step is git's own: a lock, a look whether everything is as it was planned for, a rename. What could
// not be done stays as it was, and so does its reflog; the error says what that is. Then the plan says what was done.
func (p *Plan) Finish() error {
	if p.Empty() {
		return nil
	}
	var errs []error
	try := func(what string, do func() error) bool {
		err := do()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
			delete(p.logLines, what)
		}
		return err == nil
	}
	p.Refs = slices.DeleteFunc(p.Refs, func(c RefChange) bool {
		return !p.ofCheckout(c.Name) && !try(c.Name, func() error { return p.atomically(func(t *transaction) error { return p.move(t, c) }) })
	})
	if p.stash != nil && !try(stashRef, p.moveStash) {
		p.stash = nil
	}
	if p.Index {
		p.refresh()
	}
	if try("HEAD and index", func() error { return p.atomically(p.moveCheckout) }) {
		for _, f := range p.files {
			try(f.name, func() error { return p.writeState(f) })
		}
	} else {
		p.Refs = slices.DeleteFunc(p.Refs, func(c RefChange) bool { return p.ofCheckout(c.Name) })
		maps.DeleteFunc(p.logLines, func(name string, _ []logLine) bool { return name == "HEAD" || p.ofCheckout(name) })
		p.Head, p.Index = "", false
	}
	for _, name := range slices.Sorted(maps.Keys(p.logLines)) {
		try("logs/"+name, func() error { return p.writeLog(name) })
	}
	// The guest's own goes next, in a database that may be on another file system.
	try("write to the disk", func() error { return syncfs(int(p.host.dir.Fd())) })
	return errors.Join(errs...)
}

// nothing says that nothing moves.
func (p *Plan) nothing() {
	p.Refs, p.Head, p.Index, p.stash, p.files = nil, "", false, nil, nil
	clear(p.logLines)
}

// move moves one reference.
func (p *Plan) move(t *transaction, c RefChange) error {
	put, err := t.lock(c.Name)
	if err != nil {
		return err
	}
	now, ok, err := p.host.readRef(c.Name)
	if err != nil {
		return err
	}
	if now != c.was || ok != (c.was != value{}) {
		return errMoved
	}
	if may, err := p.mayMove(c.Name, now, c.New); err != nil || !may {
		return cmp.Or(err, errUnseen)
	}
	switch {
	case c.sym != "":
		return put([]byte("ref: " + c.sym + "\n"))
	case !c.New.IsZero():
		return put([]byte(c.New.String() + "\n"))
	}
	return p.delete(t, c.Name)
}

// delete deletes a reference, which is locked.
func (p *Plan) delete(t *transaction, name string) error {
	if err := p.unpack(t, name); err != nil {
		return err
	}
	t.then(func() error { return p.host.remove(name) })
	t.then(func() error { return p.host.remove("logs/" + name) })
	return nil
}

// unpack takes a reference out of packed-refs.
func (p *Plan) unpack(t *transaction, name string) error {
	if _, ok := p.h.packed[name]; !ok {
		return nil
	}
	put, err := t.lock("packed-refs")
	if err != nil {
		return err
	}
	data, err := p.host.read("packed-refs", maxPacked)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	gone := false
	for line := range bytes.Lines(data) {
		if line[0] == '^' && gone {
			continue // what an annotated tag leads to
		}
		_, is, _ := strings.Cut(strings.TrimRight(string(line), "\n"), " ")
		if gone = is == name; !gone {
			b.Write(line)
		}
	}
	return put(b.Bytes())
}

// ofCheckout reports whether a reference moves with HEAD and the index: the host is on it, or will be.
func (p *Plan) ofCheckout(name string) bool {
	return name == p.co.h.sym || p.Head != "" && name == p.co.g.sym
}

// moveCheckout replaces the index, the branches that the host is on and will be on, and HEAD, in this order: where a crash parts
// them, the next pull finds the index that it wants, and moves the rest.
func (p *Plan) moveCheckout(t *transaction) error {
	if p.Index {
		put, err := t.lock("index")
		if err != nil {
			return err
		}
		now, err := p.host.read("index", maxIndex)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !bytes.Equal(now, p.co.indexWas) {
			list, _, err := decodeIndex(now)
			if err != nil || !sameIndex(list, p.co.hIndex) {
				return errMoved
			}
		}
		if err := put(encodeIndex(p.co.gIndex)); err != nil {
			return err
		}
	}
	for _, c := range p.Refs {
		if p.ofCheckout(c.Name) {
			if err := p.move(t, c); err != nil {
				return err
			}
		}
	}
	if p.Head == "" {
		return nil
	}
	put, err := t.lock("HEAD")
	if err != nil {
		return err
	}
	if now, _, err := p.host.readRef("HEAD"); err != nil || now != p.co.h {
		return errors.Join(errMoved, err)
	}
	return put([]byte(p.Head + "\n"))
}

// moveStash replaces the list of stashes.
func (p *Plan) moveStash() error {
	return p.atomically(func(t *transaction) error {
		s := p.stash
		put, err := t.lock(stashRef)
		if err != nil {
			return err
		}
		if now, ok, err := p.host.readRef(stashRef); err != nil || now != s.was || ok != s.wasOK {
			return errors.Join(errMoved, err)
		}
		if len(s.lines) == 0 {
			return p.delete(t, stashRef)
		}
		t.then(func() error { return p.host.replace("logs/"+stashRef, formatLog(s.lines)) })
		return put([]byte(s.lines[len(s.lines)-1].to.String() + "\n"))
	})
}

// writeLog writes a reflog, with what the host has added to it meanwhile.
func (p *Plan) writeLog(name string) error {
	data, err := p.host.read("logs/"+name, maxLog)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := p.logLines[name]
	if more := lacks(p.logWas[name], parseLog(data)); len(more) > 0 {
		lines = append(lines, more...)
	}
	return p.host.replace("logs/"+name, formatLog(lines))
}

// writeState writes or removes a file of what git is in the middle of.
func (p *Plan) writeState(f stateFile) error {
	now, err := p.host.read(f.name, maxState)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, f.was) {
		return errMoved
	}
	if f.data == nil {
		return p.host.remove(f.name)
	}
	return p.host.replace(f.name, f.data)
}

// writeShallow notes the commits that came without their parents.
func (p *Plan) writeShallow() error {
	if len(p.closure.shallow) == 0 {
		return nil
	}
	return p.atomically(func(t *transaction) error {
		put, err := t.lock("shallow")
		if err != nil {
			return err
		}
		data, err := p.host.read("shallow", maxPacked)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, id := range p.closure.shallow {
			if line := id.String() + "\n"; !bytes.Contains(data, []byte(line)) {
				data = append(data, line...)
			}
		}
		return put(data)
	})
}

// statOf is a file's stat data as an index has it.
func statOf(st *unix.Stat_t) (b [statBytes]byte) {
	for i, v := range [...]int64{st.Ctim.Sec, st.Ctim.Nsec, st.Mtim.Sec, st.Mtim.Nsec, int64(st.Dev), int64(st.Ino), 0, int64(st.Uid), int64(st.Gid), st.Size} {
		binary.BigEndian.PutUint32(b[4*i:], uint32(v))
	}
	return b
}
