package sqlvfs_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// attr are the attributes of a new object of the caller's.
func attr(mode uint32) sqlvfs.Attr {
	now := sqlvfs.Now()
	return sqlvfs.Attr{
		Mode: mode, Nlink: 1, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		Atime: now, Mtime: now, Ctime: now,
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A tree with one file is made, and read as another program would read it while the first has it
// open.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tree.db")
	store, err := sqlvfs.Open(path, sqlvfs.Options{Create: true, Root: attr(syscall.S_IFDIR | 0o755)})
	check(err)

	// The database has all of a step or nothing.
	var file *sqlvfs.Inode
	check(store.Update(func(tx *sqlvfs.Tx) (err error) {
		if file, err = tx.New(attr(syscall.S_IFREG | 0o644)); err != nil {
			return err
		}
		return tx.Link(tx.Root(), "hello.txt", file)
	}))

	// Content is written outside of steps.
	check(store.WriteAt(file, []byte("hello, tree\n"), 0, nil, sqlvfs.Now()))
	check(store.Sync()) // now it survives a power cut

	reader, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
	check(err)
	var found *sqlvfs.Inode
	check(reader.View(func(tx *sqlvfs.Tx) error {
		child, _, _, err := tx.Child(tx.Root(), "hello.txt")
		if err == nil {
			found, err = tx.Get(child.Ino)
		}
		return err
	}))
	content := make([]byte, found.Attr.Size)
	if _, err := reader.ReadAt(found, content, 0, nil); err != io.EOF {
		check(err)
	}
	fmt.Printf("%o %s", found.Attr.Mode, content)
	check(reader.Close())

	check(store.View(func(tx *sqlvfs.Tx) error {
		tx.Put(file) // it may leave memory now
		return nil
	}))
	check(store.Close())
	// Output: 100644 hello, tree
}

// A database says what is wrong with it.
func ExampleCheck() {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tree.db")
	store, err := sqlvfs.Open(path, sqlvfs.Options{Create: true, Root: attr(syscall.S_IFDIR | 0o755)})
	check(err)
	check(store.Close())

	// Another program has added a name and forgotten what it is of.
	db, err := sqlite3.Open(path)
	check(err)
	check(db.Exec("INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('lost', 1, 7)"))
	check(db.Close())

	findings, err := fsck.Check(path)
	check(err)
	for _, f := range findings {
		fmt.Printf("inode %d: %s\n", f.Ino, f.Text)
	}
	// Output: inode 7: is not there, but has the name "lost" in directory 1
}
