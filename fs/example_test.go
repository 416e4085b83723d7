package fs_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"syscall"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/sqlvfs"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// An overlay without a mount: a directory of the host that the database lies over, a file of it that
// is deleted, and one that is renamed.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	defer os.RemoveAll(dir)
	work := filepath.Join(dir, "work")
	check(os.Mkdir(work, 0o755))
	for _, name := range []string{"keep", "remove", "rename"} {
		check(os.WriteFile(filepath.Join(work, name), []byte("of the host\n"), 0o644))
	}

	now := sqlvfs.Now()
	db := filepath.Join(dir, "work.db")
	store, err := sqlvfs.Open(db, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{
		Mode: syscall.S_IFDIR | 0o755, Nlink: 2, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Atime: now, Mtime: now, Ctime: now,
	}})
	check(err)
	host, err := fs.OpenHost(work, db)
	check(err)
	overlay, err := fs.NewOverlay(fs.OverlayOptions{Store: store, Base: host, Name: "work"})
	check(err)

	top, err := overlay.Lookup(fs.RootIno, "work")
	check(err)
	check(overlay.Unlink(fs.Caller{}, top.Ino, "remove"))                        // a whiteout
	check(overlay.Rename(fs.Caller{}, top.Ino, "rename", top.Ino, "renamed", 0)) // a row with an origin, and a whiteout
	renamed, err := overlay.Lookup(top.Ino, "renamed")                           // what it holds is still the host's
	check(err)
	content := make([]byte, renamed.Attr.Size)
	_, err = overlay.Read(renamed.Ino, content, 0)
	check(err)
	fmt.Printf("renamed: %s", content)

	show := func(e fs.DirEntry) bool {
		if e.Name != "." && e.Name != ".." {
			fmt.Println("guest:", e.Name)
		}
		return true
	}
	check(overlay.ReadDir(top.Ino, 0, false, show))
	entries, err := os.ReadDir(work)
	check(err)
	for _, e := range entries {
		fmt.Println("host:", e.Name())
	}

	overlay.Forget(renamed.Ino, 1)
	overlay.Forget(top.Ino, 1)
	check(store.Close())
	check(host.Close())
	// Unordered output:
	// renamed: of the host
	// guest: keep
	// guest: renamed
	// host: keep
	// host: remove
	// host: rename
}
