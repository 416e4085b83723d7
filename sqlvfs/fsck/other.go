package fsck

import (
	"os"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// ByOther tells whether another program has written a database since art closed it: then it returns the newest checkpoint, up to which
// they may show what they did not have, and else 0.
func ByOther(path string) (upTo int64, err error) {
	if _, err := database.Inspect(path, true, false); err != nil {
		return 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, database.UnwrapPath(err)
	}
	defer f.Close()
	left, written := database.ReadLeft(f, path)
	if !written {
		return 0, nil
	}
	c, err := database.ConnectReadOnly(path, database.HostFiles)
	if err != nil {
		return 0, database.Explain(err)
	}
	defer c.Close()
	return left.History(c)
}
