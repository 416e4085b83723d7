package sqlvfs

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

const (
	qWorkspaces = `SELECT name, path, fsid, dev, ino, birth, birth_nsec, whole FROM art_workspace`

	// Layouts before 4 knew no more of a workspace.
	qNames     = `SELECT name FROM art_base UNION SELECT name FROM art_tree`
	qBaseNames = `SELECT name FROM art_base`
)

// Workspace is a directory of the tree's root that is, or was, a directory of the host.
type Workspace struct {
	Tree
	Path  string // of the directory: absolute, without symbolic links on the way
	FS    uint64 // id of its file system (statfs(2), f_fsid)
	Dev   uint64 // the device that [Fingerprint] has of what is in it
	Whole bool   // all that the host had there is in the tree
}

// SameDirectory tells whether two are one directory of one mounted file system, wherever it is.
func (w *Workspace) SameDirectory(other *Workspace) bool {
	return w.Tree == other.Tree && w.FS == other.FS && w.Dev == other.Dev
}

// WorkspaceAt says which directory is open as fd. path leads to it.
func WorkspaceAt(fd int, path, name string) (w Workspace, err error) {
	if w.Path, err = filepath.EvalSymlinks(path); err != nil {
		return Workspace{}, database.UnwrapPath(err)
	}
	if w.Path, err = filepath.Abs(w.Path); err != nil {
		return Workspace{}, err
	}
	if w.Tree, err = TreeOf(fd, name); err != nil {
		return Workspace{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Workspace{}, err
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return Workspace{}, err
	}
	w.Dev = st.Dev
	w.FS = uint64(uint32(fs.Fsid.Val[0])) | uint64(uint32(fs.Fsid.Val[1]))<<32
	return w, nil
}

// Workspaces returns what is known of the workspaces, by name. Of changes, those that are committed
// count. What a path says is the database's word: it is to be shown, and compared, but not followed.
func (tx *Tx) Workspaces() ([]Workspace, error) {
	var list []Workspace
	err := tx.each(qWorkspaces, func(q *sqlite3.Stmt) {
		w := Workspace{
			Tree: Tree{
				Name:  string(q.ColumnRawText(0)),
				Ino:   uint64(q.ColumnInt64(4)),
				Birth: scanTime(q, 5),
			},
			Path:  string(q.ColumnRawBlob(1)),
			FS:    uint64(q.ColumnInt64(2)),
			Dev:   uint64(q.ColumnInt64(3)),
			Whole: q.ColumnBool(7),
		}
		if ValidName(w.Name) && validHostPath(w.Path) {
			list = append(list, w)
		}
	})
	slices.SortFunc(list, func(a, b Workspace) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// WorkspacePaths returns the paths of the workspaces of a database that Open would accept, at most a hundred, without
// opening it as a whole. What they say is the database's word, as with [Tx.Workspaces].
func WorkspacePaths(path string) (paths []string, err error) {
	c, err := database.ConnectReadOnly(path, database.HostFiles)
	if err != nil {
		return nil, database.Explain(err)
	}
	defer c.Close()
	q := c.Prep("SELECT CAST(path AS BLOB) FROM art_workspace WHERE length(path) < 4096 LIMIT 100")
	for c.Step(q) {
		if p := string(q.ColumnRawBlob(0)); validHostPath(p) {
			paths = append(paths, p)
		}
	}
	return paths, c.Done(q)
}

// validHostPath tells whether a path can be what Workspace.Path is.
func validHostPath(path string) bool {
	return filepath.IsAbs(path) && len(path) < unix.PathMax && strings.IndexByte(path, 0) < 0 && filepath.Clean(path) == path
}

// WorkspaceNames returns the names of all workspaces that there ever were, in order. Of changes, those
// that are committed count.
func (tx *Tx) WorkspaceNames() ([]string, error) {
	list, err := tx.Workspaces()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, w := range list {
		names = append(names, w.Name)
	}
	err = tx.each(qNames, func(q *sqlite3.Stmt) {
		if name := string(q.ColumnRawText(0)); ValidName(name) {
			names = append(names, name)
		}
	})
	names = slices.DeleteFunc(names, IsLayer)
	slices.Sort(names)
	return slices.Compact(names), err
}

// SetWorkspace writes down which directory of the host a workspace is. That alone does not count as a
// change, see Changed.
func (tx *Tx) SetWorkspace(w Workspace) {
	tx.begin()
	if tx.gather.workspaces == nil {
		tx.gather.workspaces = map[string]Workspace{}
	}
	tx.gather.workspaces[w.Name] = w
}

func (w *writer) putWorkspaces(b *batch) error {
	for _, ws := range b.workspaces {
		err := w.keepAgreed(database.KeptWorkspace, ws.Name)
		if err != nil {
			return err
		}
		err = do(w.conn, "INSERT OR REPLACE INTO main.art_workspace (name, path, fsid, dev, ino, birth, birth_nsec, whole) VALUES (?,?,?,?,?,?,?,?)",
			ws.Name, []byte(ws.Path), ws.FS, ws.Dev, ws.Ino, ws.Birth, ws.Whole)
		if err != nil {
			return err
		}
	}
	return nil
}
