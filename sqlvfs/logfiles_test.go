package sqlvfs

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A power cut while a new database goes over to WAL mode leaves it in that mode, and beside it
// a rollback journal that takes it back to when it was empty.
func TestOpenTakenBackToNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	must(t, openTest(t, path).Close())

	// https://www.sqlite.org/fileformat2.html, section 3: the header of a journal of no page, for
	// a database that had none.
	const sector, page = 512, 4096
	journal := append([]byte{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7}, make([]byte, sector-8)...)
	binary.BigEndian.PutUint32(journal[20:], sector)
	binary.BigEndian.PutUint32(journal[24:], page)
	must(t, os.WriteFile(path+"-journal", journal, 0o600))

	s := openTest(t, path)
	defer s.Close()
	if _, err := os.Stat(path + "-journal"); err == nil {
		t.Error("the journal was not played back")
	}
}

// Whoever looks into a database and goes removes what is beside it, but not what is there for a store
// that is just being opened.
func TestPlacedBesideReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	open := func() { must(t, openTest(t, path).Close()) }
	open()
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			c, err := database.ConnectReadOnly(path, defaults.query)
			if err == nil {
				_, err = database.QueryInt(c.Conn, "SELECT count(*) FROM fs_inode")
				err = errors.Join(err, c.Close())
			}
			if err != nil {
				stopped <- err
				return
			}
		}
	}()
	for range 40 {
		open()
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
