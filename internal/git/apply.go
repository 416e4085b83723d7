package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

var (
	errLocked = errors.New("another git process works on it (or was killed: then remove the .lock file)")
	errMoved  = errors.New("the host has changed it just now")
)

// Finish moves references, the index and HEAD, after the objects were imported and the files were placed.
// Each step is git's own: a lock, a look whether everything is as it was planned for, a rename. What could
// not be done stays as it was; the error says what that is.
func (p *Plan) Finish() error {
	var errs []error
	try := func(what string, do func() error) bool {
		err := do()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
		return err == nil
	}
	p.writeShallow()
	for _, c := range p.Refs {
		if c.Name != p.co.h.sym {
			try(c.Name, func() error { return p.move(c) })
		}
	}
	if p.stash != nil {
		try(stashRef, p.moveStash)
	}
	if p.Index {
		p.refresh()
	}
	if try("HEAD and index", p.moveCheckout) {
		for _, f := range p.files {
			try(f.name, func() error { return p.writeState(f) })
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.logLines)) {
		try("logs/"+name, func() error { return p.writeLog(name) })
	}
	return errors.Join(errs...)
}

// locked runs a function while a file of git's is locked, as git does: by another one beside it. put replaces
// the file by what it is given.
func (p *Plan) locked(name string, do func(put func(data []byte) error) error) error {
	lock := name + ".lock"
	f, err := p.host.create(lock, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return errLocked
	}
	if err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			f.Close()
			p.host.remove(lock)
		}
	}()
	return do(func(data []byte) error {
		if _, err := f.Write(data); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		err := p.host.rename(lock, name, 0)
		if err == unix.EISDIR || err == unix.ENOTEMPTY || err == unix.EEXIST {
			p.host.removeEmpty(name, 0) // git leaves such directories behind
			err = p.host.rename(lock, name, 0)
		}
		if err == nil {
			done = true
			f.Close()
		}
		return err
	})
}

// removeEmpty removes a directory that holds nothing but such directories.
func (h *hostDir) removeEmpty(at string, depth int) {
	list, err := h.list(at)
	if err != nil || depth > maxDepth {
		return
	}
	for _, e := range list {
		if e.Dir {
			h.removeEmpty(at+"/"+e.Name, depth+1)
		}
	}
	if d, err := h.open(at, unix.O_PATH|unix.O_DIRECTORY, 0); err == nil {
		d.Close()
		h.remove(at)
	}
}

// move moves one reference.
func (p *Plan) move(c RefChange) error {
	return p.locked(c.Name, func(put func([]byte) error) error {
		now, ok, err := p.host.readRef(c.Name)
		if err != nil {
			return err
		}
		if now != c.was || ok != (c.was != value{}) {
			return errMoved
		}
		switch {
		case c.sym != "":
			return put([]byte("ref: " + c.sym + "\n"))
		case !c.New.IsZero():
			return put([]byte(c.New.String() + "\n"))
		}
		if err := p.unpack(c.Name); err != nil {
			return err
		}
		if err := p.host.remove(c.Name); err != nil {
			return err
		}
		return p.host.remove("logs/" + c.Name)
	})
}

// unpack takes a reference out of packed-refs.
func (p *Plan) unpack(name string) error {
	if _, ok := p.h.packed[name]; !ok {
		return nil
	}
	return p.locked("packed-refs", func(put func([]byte) error) error {
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
	})
}

// moveCheckout replaces the index, the branch that the host is on, and HEAD. They are locked together, and
// then renamed at once: git takes the same locks.
func (p *Plan) moveCheckout() error {
	i := slices.IndexFunc(p.Refs, func(c RefChange) bool { return c.Name == p.co.h.sym })
	head := func() error {
		if p.Head == "" {
			return nil
		}
		return p.locked("HEAD", func(put func([]byte) error) error {
			if now, _, err := p.host.readRef("HEAD"); err != nil || now != p.co.h {
				return errors.Join(errMoved, err)
			}
			return put([]byte(p.Head + "\n"))
		})
	}
	rest := func() error {
		if i >= 0 {
			if err := p.move(p.Refs[i]); err != nil {
				return err
			}
		}
		return head()
	}
	if !p.Index {
		return rest()
	}
	return p.locked("index", func(put func([]byte) error) error {
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
		if i >= 0 {
			if now, _, err := p.host.readRef(p.Refs[i].Name); err != nil || now != p.Refs[i].was {
				return errors.Join(errMoved, err)
			}
		}
		if err := put(encodeIndex(p.co.gIndex)); err != nil {
			return err
		}
		return rest()
	})
}

// moveStash replaces the list of stashes.
func (p *Plan) moveStash() error {
	s := p.stash
	return p.locked(stashRef, func(put func([]byte) error) error {
		if now, ok, err := p.host.readRef(stashRef); err != nil || now != s.was || ok != s.wasOK {
			return errors.Join(errMoved, err)
		}
		if len(s.lines) == 0 {
			if err := p.unpack(stashRef); err != nil {
				return err
			}
			if err := p.host.remove(stashRef); err != nil {
				return err
			}
			return p.host.remove("logs/" + stashRef)
		}
		if err := p.host.replace("logs/"+stashRef, formatLog(s.lines)); err != nil {
			return err
		}
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
	return p.locked("shallow", func(put func([]byte) error) error {
		data, err := p.host.read("shallow", maxPacked)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, id := range p.closure.shallow {
			data = append(data, id.String()+"\n"...)
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
