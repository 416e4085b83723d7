package sqlvfs

import (
	"github.com/ncruces/go-sqlite3/util/ioutil"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Remote has a database be read that is no file: until forget is called, what only reads can be given name instead of a path. It is one file,
// without a log, and does not change.
func Remote(name string, file ioutil.SizeReaderAt) (forget func(), err error) {
	return database.AddRemote(name, file)
}

// RemoteSize is how long that is, in bytes.
func RemoteSize(name string) (int64, error) { return database.RemoteSize(name) }

// IsRemote tells whether a name is not the path of a database, but that of one which is no file.
func IsRemote(name string) bool { return database.IsRemote(name) }
