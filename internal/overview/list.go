package overview

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// entry is a database as JSON has it.
type entry struct {
	Name      string     `json:"name"`
	Workspace string     `json:"workspace"` // "": unknown
	Gone      bool       `json:"gone"`      // there is no such directory any more
	Database  string     `json:"database"`
	Parent    string     `json:"parent,omitempty"` // what it is a fork of; "": of none
	Size      int64      `json:"size"`
	History   int64      `json:"history"` // of that, content that only checkpoints have
	Used      *time.Time `json:"used"`
	Running   bool       `json:"running"`
	PID       int        `json:"pid,omitempty"`
	Error     string     `json:"error,omitempty"` // why it could not be looked into
}

// List shows the databases in a directory, the one that was used last first. What is no database of a workspace, by
// its name, is left out.
func List(databases string, o Options) error {
	files, err := os.ReadDir(databases)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list the databases: %w", err)
	}
	var list []*entry
	for _, f := range files {
		if ofWorkspace(f.Name()) && f.Type().IsRegular() {
			list = append(list, look(filepath.Join(databases, f.Name())))
		}
	}
	slices.SortStableFunc(list, func(a, b *entry) int { return b.used().Compare(a.used()) })
	width := 0
	for _, e := range list {
		width = max(width, len(o.name(e.Name)))
	}
	const row = "%-*s  %8s  %-16s  %s%s"
	if len(list) > 0 && !o.JSON {
		width = max(width, len("NAME"))
		if err := o.line(row, width, "NAME", "SIZE", "USED", "WORKSPACE", ""); err != nil {
			return err
		}
	}
	for _, e := range list {
		if o.JSON {
			err = o.object(e)
		} else {
			err = o.line(row, width, o.name(e.Name), cli.Bytes(e.Size), e.when(), e.where(&o), e.history()+e.forkOf(&o))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofWorkspace tells whether a name is that of a database of a workspace, or of one in whose place a copy was brought back.
func ofWorkspace(name string) bool {
	_, ok := workspace.BaseName(name)
	if at := strings.LastIndex(name, control.AsideMark); !ok && at > 0 {
		_, ok = workspace.BaseName(name[:at])
	}
	return ok
}

// look finds out what there is to say of a database.
func look(path string) *entry {
	e := &entry{Name: strings.TrimSuffix(filepath.Base(path), ".db"), Database: path, Size: sizeOf(path)}
	if info, err := os.Lstat(path); err == nil {
		at := info.ModTime()
		e.Used = &at
	}
	var err error
	if e.PID, e.Running, err = sqlvfs.Writer(path); err != nil {
		e.Error = err.Error()
		return e
	}
	if list, err := sessions(path, nil); err != nil {
		e.Error = err.Error()
		return e
	} else if len(list) > 0 {
		if list[0].Running {
			e.PID = list[0].PID
		}
		if at := list[0].Ended; at != nil {
			e.Used = at
		} else if at := list[0].Started; at != nil {
			e.Used = at
		}
	}
	e.Parent, _, _ = sqlvfs.ForkOf(path)
	e.History = historyOf(path)
	e.Workspace = workspaceOf(path)
	if e.Workspace != "" {
		_, err := os.Stat(e.Workspace)
		e.Gone = errors.Is(err, fs.ErrNotExist)
	}
	return e
}

// workspaceOf returns the directory whose database has this path, as the database says, or "": it may hold others,
// and say anything.
func workspaceOf(path string) string {
	paths, err := sqlvfs.WorkspacePaths(path)
	if err != nil || len(paths) == 0 {
		return "" // an older layout, for one
	}
	for _, dir := range paths {
		if workspace.IsOf(filepath.Base(path), dir) {
			return dir
		}
	}
	return paths[0] // it was adopted
}

// historyOf is how much content a database holds for checkpoints alone; 0 where that is not known.
func historyOf(path string) int64 {
	s, err := openDatabase(path)
	if err != nil {
		return 0
	}
	defer s.Close()
	n, err := s.HistoryBytes()
	if err != nil {
		return 0 // an older layout, for one
	}
	return n
}

// history says what history takes, if that is worth a word.
func (e *entry) history() string {
	if e.History < 1<<20 {
		return ""
	}
	return "  (" + cli.Bytes(e.History) + " for checkpoints)"
}

// forkOf says what it is a fork of.
func (e *entry) forkOf(o *Options) string {
	if e.Parent == "" {
		return ""
	}
	name := e.Parent
	if filepath.Dir(name) == filepath.Dir(e.Database) {
		name = strings.TrimSuffix(filepath.Base(name), ".db")
	}
	return "  (fork of " + o.name(name) + ")"
}

func (e *entry) used() time.Time {
	if e.Used == nil {
		return time.Time{}
	}
	return *e.Used
}

func (e *entry) when() string {
	switch {
	case e.Running:
		return "running"
	case e.Used == nil:
		return "?"
	}
	return e.Used.Local().Format("2006-01-02 15:04")
}

func (e *entry) where(o *Options) string {
	switch {
	case e.Error != "":
		return "error: " + o.name(e.Error)
	case e.Workspace == "":
		return "?"
	case e.Gone:
		return o.name(e.Workspace) + " (gone)"
	}
	return o.name(e.Workspace)
}
