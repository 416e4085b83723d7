package database

import (
	"fmt"
	"sync"

	"github.com/ncruces/go-sqlite3/util/ioutil"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"
)

// remoteFiles are the parameters of [Connect] for databases that are no files of the host. They never change, so that connections need no locks, and
// keep the pages that they have read; and though the header says that there may be a log, SQLite looks for none
// (act_like_temp_file in https://sqlite.org/src/file/src/pager.c).
const remoteFiles = "vfs=reader"

// remotes are such databases, by their names.
var remotes sync.Map

// AddRemote makes a database known by a name that is not a path, until forget is called.
func AddRemote(name string, file ioutil.SizeReaderAt) (forget func(), err error) {
	if _, there := remotes.LoadOrStore(name, file); there {
		return nil, fmt.Errorf("%s is open already", name)
	}
	readervfs.Create(name, file)
	return func() {
		readervfs.Delete(name)
		remotes.Delete(name)
	}, nil
}

// RemoteSize is how long such a database is, in bytes.
func RemoteSize(name string) (int64, error) {
	file, is := remotes.Load(name)
	if !is {
		return 0, ErrNotExist
	}
	return file.(ioutil.SizeReaderAt).Size()
}

// IsRemote tells whether a path is such a name.
func IsRemote(path string) bool {
	_, is := remotes.Load(path)
	return is
}
