package identity

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Files are the files of a database that is open, wherever they are.
type Files struct {
	file, dir object
	name      string // base name of the file
}

type object struct{ dev, ino uint64 }

func objectOf(st *unix.Stat_t) object { return object{st.Dev, st.Ino} }

// FilesOf notes which files are the database's. The file may not exist (yet).
func FilesOf(file string) (Files, error) {
	var st unix.Stat_t
	f := Files{name: filepath.Base(file)}
	switch err := unix.Stat(file, &st); {
	case err == nil:
		f.file = objectOf(&st)
	case err != unix.ENOENT:
		return f, err
	}
	if err := unix.Stat(filepath.Dir(file), &st); err != nil {
		return f, err
	}
	f.dir = objectOf(&st)
	return f, nil
}

// ID tells the database from others, as long as it is the same file.
func (f *Files) ID() string { return fmt.Sprintf("%d:%d", f.file.dev, f.file.ino) }

// Has tells whether an entry of the directory dir is one of the database's files.
func (f *Files) Has(dir *unix.Stat_t, name string, st *unix.Stat_t) bool {
	if st != nil && f.file != (object{}) && objectOf(st) == f.file {
		return true
	}
	return objectOf(dir) == f.dir && belongs(name, f.name)
}

// belongs tells whether a name is that of a database, or of one of its companions. SQLite makes and removes those as
// it pleases, so they are known by their names.
func belongs(name, database string) bool {
	suffix, ok := strings.CutPrefix(name, database)
	return ok && (suffix == "" || suffix == "-wal" || suffix == "-shm" || suffix == "-journal")
}
