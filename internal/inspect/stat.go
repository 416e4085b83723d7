package inspect

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// timeFormat is that of stat(1).
const timeFormat = "2006-01-02 15:04:05.000000000 -0700"

// Stat prints all attributes of a path, where its content is, and what of the host it depends on.
// A symbolic link is not followed. Ino is the number that programs are shown, Row the one in the
// tables.
func Stat(w io.Writer, s *sqlvfs.Store, path string, opt Options) error {
	in, err := find(s, path, false, opt)
	if err != nil {
		return err
	}
	defer put(s, in)
	if opt.JSON {
		if err := statJSON(w, s, in, path); err != nil {
			return pathError(path, opt, err)
		}
		return nil
	}
	out := bufio.NewWriter(w)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(out, "%8s: %s\n", label, fmt.Sprintf(format, args...))
	}
	a := in.Attr
	line("Path", "%s", quote.Name(path, opt.Terminal))
	if a.IsSymlink() {
		it, err := single(s, path, in)
		if err != nil {
			return pathError(path, opt, err)
		}
		line("Target", "%s", quote.Name(it.target, opt.Terminal))
	}
	line("Mode", "%04o %s", a.Mode&0o7777, modeText(a.Mode))
	line("Ino", "%d", in.Number())
	line("Row", "%d", in.Ino)
	line("Links", "%d", a.Nlink)
	line("Owner", "%d:%d", a.UID, a.GID)
	line("Size", "%d", a.Size)
	line("Access", "%s", a.Atime.Time().Format(timeFormat))
	line("Modify", "%s", a.Mtime.Time().Format(timeFormat))
	line("Change", "%s", a.Ctime.Time().Format(timeFormat))
	if born, ok, err := birth(s, in); err != nil {
		return pathError(path, opt, err)
	} else if ok {
		line("Birth", "%s", born.Time().Format(timeFormat))
	}
	if o := in.Origin; o != nil {
		line("Origin", "%s in workspace %s", quote.Name(o.Path, opt.Terminal), quote.Name(o.Base, opt.Terminal))
		line("Version", "device %d, inode %d, %d bytes, modified %s, changed %s", o.Dev, o.Ino, o.Size,
			o.Mtime.Time().Format(timeFormat), o.Ctime.Time().Format(timeFormat))
	}
	switch {
	case a.IsRegular():
		err = content(line, s, in)
	case a.IsDir():
		err = entries(line, s, in, opt)
	}
	if err != nil {
		return pathError(path, opt, err)
	}
	return out.Flush()
}

// birth is when an inode was made.
func birth(s *sqlvfs.Store, in *sqlvfs.Inode) (born sqlvfs.Timespec, ok bool, err error) {
	err = s.View(func(tx *sqlvfs.Tx) (err error) {
		born, ok, err = tx.Birth(in)
		return err
	})
	return born, ok, err
}

// content tells where a file's bytes are.
func content(line func(string, string, ...any), s *sqlvfs.Store, in *sqlvfs.Inode) error {
	c, err := storedContent(s, in)
	if err != nil {
		return err
	}
	line("Content", "%d bytes in %d chunks in the database", c.Bytes, c.Chunks)
	if in.Origin != nil && in.Origin.Limit > 0 {
		line("", "what these leave out of the first %d bytes is in the origin", in.Origin.Limit)
	}
	return nil
}

func storedContent(s *sqlvfs.Store, in *sqlvfs.Inode) (*stored, error) {
	rows, err := s.Committed()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	c := &stored{}
	c.Chunks, c.Bytes, err = rows.Held(in.Ino)
	return c, err
}

// entries counts a directory's own, and names those of the host that it hides.
func entries(line func(string, string, ...any), s *sqlvfs.Store, in *sqlvfs.Inode, opt Options) error {
	own, hidden, err := storedEntries(s, in)
	if err != nil {
		return err
	}
	line("Entries", "%d in the database", own)
	if len(hidden) == 0 {
		return nil
	}
	for i, name := range hidden {
		hidden[i] = quote.Name(name, opt.Terminal)
	}
	line("Deleted", "%s", strings.Join(hidden, " "))
	return nil
}

func storedEntries(s *sqlvfs.Store, in *sqlvfs.Inode) (own int, hidden []string, err error) {
	err = s.View(func(tx *sqlvfs.Tx) error {
		children, err := tx.Children(in)
		if err != nil {
			return err
		}
		own = len(children)
		hidden, err = tx.Whiteouts(in)
		return err
	})
	slices.Sort(hidden)
	return own, hidden, err
}

// statJSON is Stat as JSON.
func statJSON(w io.Writer, s *sqlvfs.Store, in *sqlvfs.Inode, path string) (err error) {
	it, err := single(s, path, in)
	if err != nil {
		return err
	}
	o := it.object("")
	o.details = &details{Row: in.Ino, Accessed: moment(in.Attr.Atime), Changed: moment(in.Attr.Ctime), Origin: newOrigin(in.Origin)}
	born, ok, err := birth(s, in)
	if err != nil {
		return err
	}
	if ok {
		o.Born = moment(born)
	}
	switch {
	case in.Attr.IsRegular():
		o.Content, err = storedContent(s, in)
	case in.Attr.IsDir():
		var own int
		own, o.Deleted, err = storedEntries(s, in)
		o.Entries = &own
	}
	if err != nil {
		return err
	}
	return printJSON(w, o)
}
