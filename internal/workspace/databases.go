package workspace

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// applicationID is sqlvfs.ApplicationID; SQLite itself art does without.
const applicationID = 0x61727431

// Beside returns the other databases of art's in a database's directory.
func Beside(database string) (others []string) {
	const most = 4096 // entries that are looked at
	dir, err := os.Open(filepath.Dir(database))
	if err != nil {
		return nil // whoever opens the database tells
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(most)
	for _, entry := range entries {
		if entry.Type().IsRegular() && entry.Name() != filepath.Base(database) && isDatabase(int(dir.Fd()), entry.Name()) {
			others = append(others, filepath.Join(filepath.Dir(database), entry.Name()))
		}
	}
	return others
}

// isDatabase says whether a file is a database of art's, by its first bytes (https://www.sqlite.org/fileformat.html,
// the database header).
func isDatabase(dir int, name string) bool {
	const page = 512 // the smallest
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Size == 0 || st.Size%page != 0 {
		return false
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false // nor can the guest
	}
	defer unix.Close(fd)
	header := make([]byte, 72)
	n, err := unix.Pread(fd, header, 0)
	return err == nil && n == len(header) && bytes.HasPrefix(header, []byte("SQLite format 3\x00")) &&
		binary.BigEndian.Uint32(header[68:]) == applicationID
}
