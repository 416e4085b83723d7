package sandbox

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// applicationID is sqlvfs.ApplicationID; SQLite itself art does without.
const applicationID = 0x61727431

// hideDatabases hides the databases of other sessions that lie beside this one's, as they do where one directory is for
// all. One that the user mounts stays. A directory that is hidden as a whole, as art's own is, hides also what comes
// there later.
func (p *prepared) hideDatabases(beside <-chan []string, mounts []config.Mount) {
	if slices.ContainsFunc(p.plan.Hide, func(hidden string) bool { return view.Within(p.plan.Database, hidden) }) {
		return
	}
	workspace := view.Resolve(p.plan.Workspace)
	for _, path := range <-beside {
		if slices.ContainsFunc(mounts, func(m config.Mount) bool { return view.Resolve(m.On(workspace)) == path }) {
			continue
		}
		if view.Within(path, workspace) {
			p.hideBase = append(p.hideBase, strings.TrimPrefix(path, workspace))
		}
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			p.plan.Hide = append(p.plan.Hide, path+suffix)
		}
	}
}

// databasesBeside returns the other databases of art's in a database's directory.
func databasesBeside(database string) (others []string) {
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
