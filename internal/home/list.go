package home

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/quote"
)

// Options say how to show homes, and what may be done to them.
type Options struct {
	Stdout, Stderr io.Writer
	Terminal       bool // Stdout is one
	JSON           bool
	Patch          func(*Change) string // shows the lines of a change; nil: its name is enough
	Force, Quiet   bool
	// Answer is where to read the answer to a question from; nil: nobody can be asked.
	Answer io.Reader
	// Seeds are the paths that a home gets from the user's own if none is named.
	Seeds []string
}

// entry is a home as JSON has it.
type entry struct {
	Name    string     `json:"name"`
	Path    string     `json:"path"`
	Size    int64      `json:"size"`
	Whole   bool       `json:"whole"` // Size is all there is
	Used    *time.Time `json:"used"`
	Running bool       `json:"running"`
	Error   string     `json:"error,omitempty"`
	// Workspaces are those that have had it.
	Workspaces []Named `json:"workspaces"`
}

// List shows the homes, the one that was used last first.
func List(o *Options) error {
	fail := func(err error) error { return fmt.Errorf("list the homes: %w", err) }
	path, err := Directory()
	if err != nil {
		return err
	}
	homes, err := openHomes(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fail(err)
	}
	defer homes.Close()
	entries, err := os.ReadDir(homes.Name())
	if err != nil {
		return fail(err)
	}
	var list []*entry
	width := 0
	for _, e := range entries {
		if e.IsDir() && Check(e.Name()) == nil {
			list = append(list, look(homes, e.Name()))
			width = max(width, len(e.Name()))
		}
	}
	slices.SortStableFunc(list, func(a, b *entry) int { return b.used().Compare(a.used()) })
	for _, e := range list {
		if err := e.show(o, width); err != nil {
			return fail(err)
		}
	}
	return nil
}

func (e *entry) show(o *Options, width int) error {
	if o.JSON {
		return o.object(e)
	}
	size, rest := cli.Bytes(e.Size), e.Path
	if !e.Whole {
		size = ">" + size
	}
	if e.Error != "" {
		rest = "error: " + e.Error
	}
	when := "?"
	switch {
	case e.Running:
		when = "running"
	case e.Used != nil:
		when = e.Used.Local().Format("2006-01-02 15:04")
	}
	_, err := fmt.Fprintf(o.Stdout, "%-*s  %8s  %-16s  %s\n", width, e.Name, size, when, quote.Name(rest, o.Terminal))
	for _, w := range e.Workspaces {
		if err == nil && w.Name != filepath.Base(w.Path) {
			_, err = fmt.Fprintf(o.Stdout, "%-*s  ~/%s is %s\n", width, "", quote.Name(w.Name, o.Terminal), quote.Name(w.Path, o.Terminal))
		}
	}
	return err
}

func (e *entry) used() time.Time {
	if e.Used == nil {
		return time.Time{}
	}
	return *e.Used
}

// object writes a line for programs.
func (o *Options) object(value any) error {
	text, err := quote.JSON(value)
	if err == nil {
		_, err = fmt.Fprintln(o.Stdout, text)
	}
	return err
}

// look finds out what there is to say of a home.
func look(homes *os.File, name string) *entry {
	h, err := open(homes, name, false)
	if err != nil {
		return &entry{Name: name, Error: err.Error()}
	}
	e := &entry{Name: name, Path: h.Path}
	e.Workspaces, err = h.names()
	if err != nil {
		e.Error = err.Error()
	}
	if info, err := h.lock.Stat(); err == nil {
		at := info.ModTime()
		e.Used = &at
	}
	if root, err := hostfs.Open(h.dir, ".", unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
		e.Error = err.Error()
	} else {
		m := measure{left: mostEntries}
		e.Whole = m.directory(root, 0)
		e.Size = m.size
	}
	// Whether there is another session is known once this one is no user of the home.
	h.Close()
	own, err := lock(homes, name, unix.LOCK_EX)
	if e.Running = errors.Is(err, errInUse); err == nil {
		own.Close()
	}
	return e
}

// mostEntries and mostDepth bound what is looked at of a tree that guests have made.
const (
	mostEntries = 1 << 20
	mostDepth   = 200
)

// measure adds up the room that files take.
type measure struct {
	size int64
	left int
}

// directory adds what is in a directory, which it closes, and says whether that is all.
func (m *measure) directory(d *os.File, depth int) (whole bool) {
	defer d.Close()
	names, err := hostfs.Names(d)
	whole = err == nil
	for _, name := range names {
		if m.left--; m.left < 0 {
			return false
		}
		st, err := hostfs.StatAt(d, name)
		if err != nil {
			continue // gone meanwhile
		}
		m.size += st.Blocks * 512
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			continue
		}
		sub, err := hostfs.Open(d, name, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil || depth == mostDepth {
			if err == nil {
				sub.Close()
			}
			whole = false
			continue
		}
		whole = m.directory(sub, depth+1) && whole
	}
	return whole
}
