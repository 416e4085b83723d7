package home

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/quote"
)

// maxShown bounds the files that are compared line by line, in bytes.
const maxShown = 8 << 20

// difference is one as JSON has it.
type difference struct {
	Change string `json:"change"` // A: only the home has it, D: only the user's own home does, M: they differ
	Path   string `json:"path"`
}

// Change is one file of the user's own home, and what a home has in its place. The modes are git's, 0 where there is none.
type Change struct {
	Path             string
	OldMode, NewMode uint32
	Old, New         []byte
}

// Diff shows how files in a home differ from those of the user's own; without paths those that were copied from there.
// It says whether there is a difference.
func Diff(name string, paths []string, o *Options) (differs bool, err error) {
	fail := func(err error) (bool, error) { return false, fmt.Errorf("compare the home %s: %w", name, err) }
	homes, err := find(name, name)
	if err != nil {
		return fail(err)
	}
	defer homes.Close()
	h, err := open(homes, name, false)
	if err != nil {
		return fail(err)
	}
	defer h.Close()
	own, err := openHost()
	if err != nil {
		return fail(err)
	}
	defer own.Close()
	for i, path := range paths {
		if paths[i], err = within(own, path); err != nil {
			return fail(err)
		}
	}
	if len(paths) == 0 {
		if paths, err = h.seeded(); err != nil {
			return fail(err)
		}
	}
	if len(paths) == 0 {
		return false, cli.WithHint(fmt.Errorf("compare the home %s: nothing was copied into it", name), "name paths below your home: art home diff "+name+" .gitconfig")
	}
	c := &comparer{own: own, home: h.dir, options: o}
	for _, path := range paths {
		at := path // where that is, behind links of the user's own
		if f, names, err := openOwnFile(own, path); err == nil {
			at = names[len(names)-1]
			f.Close()
		}
		if err := c.compare(at, path, 0); err != nil {
			return c.differs, fmt.Errorf("compare %s: %w", filepath.Join(h.Path, path), err)
		}
	}
	return c.differs, nil
}

type comparer struct {
	own, home *os.File
	options   *Options
	seen      int
	differs   bool
}

// side is what one home has at a path; nil if there is nothing.
type side struct {
	file *os.File // of a regular file or a directory
	link string
	mode uint32
	size int64
}

// compare compares what both homes have at a path, and below it; in the user's own that is at another one.
func (c *comparer) compare(at, rel string, depth int) error {
	if c.seen++; c.seen > mostEntries || depth > mostDepth {
		return errors.New("it is too large")
	}
	own, err := openSide(c.own, at)
	if err != nil {
		return err
	}
	defer own.close()
	home, err := openSide(c.home, rel)
	if err != nil {
		return err
	}
	defer home.close()
	if own.is(unix.S_IFDIR) || home.is(unix.S_IFDIR) {
		names, err := both(own, home)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := c.compare(filepath.Join(at, name), filepath.Join(rel, name), depth+1); err != nil {
				return err
			}
		}
	}
	same, err := own.same(home)
	if err != nil || same {
		return err
	}
	c.differs = true
	return c.show(rel, own, home)
}

// openSide opens what is at a path.
func openSide(root *os.File, rel string) (*side, error) {
	f, err := hostfs.Open(root, rel, unix.O_PATH)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil, nil // a link on the way: there is nothing that this path would name in a copy
	case err != nil:
		return nil, err
	}
	st, err := hostfs.Stat(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	s := &side{mode: st.Mode, size: st.Size}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		s.link, err = hostfs.Readlink(f, "")
	case unix.S_IFREG, unix.S_IFDIR:
		s.file, err = os.Open(hostfs.Path(f))
		err = hostfs.Unwrap(err)
	}
	f.Close()
	return s, err
}

func (s *side) close() {
	if s != nil && s.file != nil {
		s.file.Close()
	}
}

func (s *side) is(kind uint32) bool { return s != nil && s.mode&unix.S_IFMT == kind }

// both returns the names in two directories, or in the one of them that is one.
func both(sides ...*side) (all []string, err error) {
	for _, s := range sides {
		if !s.is(unix.S_IFDIR) {
			continue
		}
		names, err := hostfs.Names(s.file)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// same says whether there is nothing to tell of what two sides are: of directories, it is what they hold.
func (s *side) same(other *side) (bool, error) {
	switch {
	case s == nil || other == nil:
		one := s
		if s == nil {
			one = other
		}
		return one == nil || one.is(unix.S_IFDIR), nil
	case s.mode&unix.S_IFMT != other.mode&unix.S_IFMT, s.link != other.link, s.git() != other.git():
		return false, nil
	case !s.is(unix.S_IFREG):
		return true, nil
	case s.size != other.size:
		return false, nil
	}
	return sameContent(s.file, other.file)
}

func sameContent(a, b *os.File) (bool, error) {
	one, two := make([]byte, 1<<16), make([]byte, 1<<16)
	for at := int64(0); ; {
		n, err := a.ReadAt(one, at)
		if err != nil && err != io.EOF {
			return false, hostfs.Unwrap(err)
		}
		m, errB := b.ReadAt(two, at)
		if errB != nil && errB != io.EOF {
			return false, hostfs.Unwrap(errB)
		}
		if !bytes.Equal(one[:n], two[:m]) {
			return false, nil
		}
		if at += int64(n); err == io.EOF {
			return true, nil
		}
	}
}

// git is the mode as git has it, 0 of what git does not keep.
func (s *side) git() uint32 {
	switch {
	case s.is(unix.S_IFLNK):
		return unix.S_IFLNK
	case s.is(unix.S_IFREG) && s.mode&0o100 != 0:
		return unix.S_IFREG | 0o755
	case s.is(unix.S_IFREG):
		return unix.S_IFREG | 0o644
	}
	return 0
}

// content is what git would keep of it, if that is not too large.
func (s *side) content() (data []byte, ok bool, err error) {
	switch {
	case s.is(unix.S_IFLNK):
		return []byte(s.link), true, nil
	case !s.is(unix.S_IFREG):
		return nil, true, nil
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, false, err
	}
	data, err = io.ReadAll(io.LimitReader(s.file, maxShown+1))
	return data, len(data) <= maxShown, hostfs.Unwrap(err)
}

func (c *comparer) show(rel string, own, home *side) error {
	o := c.options
	d := difference{"M", rel}
	switch {
	case own == nil:
		d.Change = "A"
	case home == nil:
		d.Change = "D"
	}
	switch {
	case o.JSON:
		return o.object(d)
	case o.Patch == nil:
		_, err := fmt.Fprintf(o.Stdout, "%s %s\n", d.Change, quote.Name(rel, o.Terminal))
		return err
	}
	before, ok, err := own.content()
	if err != nil {
		return err
	}
	after, fits, err := home.content()
	if err != nil {
		return err
	}
	if !ok || !fits {
		_, err := fmt.Fprintf(o.Stdout, "Binary files a/%s and b/%[1]s differ\n", quote.Name(rel, o.Terminal))
		return err
	}
	text := o.Patch(&Change{Path: rel, OldMode: own.git(), NewMode: home.git(), Old: before, New: after})
	if o.Terminal {
		text = quote.Text(text, nil)
	}
	_, err = io.WriteString(o.Stdout, text)
	return err
}
