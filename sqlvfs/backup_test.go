package sqlvfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func backup(path, file string) error {
	return Backup(context.Background(), path, file, func(int64) {})
}

// A copy that is made while a session writes is what one commit has left.
func TestBackupWhileASessionRuns(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	s := openTest(t, path)
	// Each commit writes the same into both files.
	one, two := create(t, s, "one", syscall.S_IFREG|0o600), create(t, s, "two", syscall.S_IFREG|0o600)
	stop, stopped := make(chan struct{}), make(chan struct{})
	started := make(chan struct{})
	go func() {
		defer close(stopped)
		for i := range 1 << 20 {
			data := bytes.Repeat([]byte{byte(i)}, 20*DefaultChunkSize)
			for _, in := range []*Inode{one, two} {
				if err := s.WriteAt(in, data, 0, nil, Now()); err != nil {
					t.Error(err)
				}
			}
			if err := s.Sync(); err != nil {
				t.Error(err)
			}
			if i == 0 {
				close(started)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	<-started
	for i := range 5 {
		file := filepath.Join(dir, fmt.Sprint("copy", i))
		must(t, backup(path, file))
		st, err := os.Stat(file)
		must(t, err)
		if st.Mode() != 0o600 {
			t.Errorf("mode is %v", st.Mode())
		}
		if got := findings(t, file); got != "" {
			t.Error(got)
		}
		c, err := Open(file, Options{ReadOnly: true})
		must(t, err)
		first, second := content(t, c, lookup(t, c, "one")), content(t, c, lookup(t, c, "two"))
		// A batch may be taken between the two writes: then the second is one step behind.
		if len(first) != len(second) || first[0] != second[0] && first[0] != second[0]+1 {
			t.Errorf("%d bytes of %d, %d bytes of %d", len(first), first[0], len(second), second[0])
		}
		must(t, c.Close())
	}
	close(stop)
	<-stopped
	must(t, s.Close())
	if names, _ := filepath.Glob(filepath.Join(dir, ".*")); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestBackupOverwritesNothing(t *testing.T) {
	path := sample(t)
	dir := filepath.Dir(path)
	other := filepath.Join(dir, "other")
	must(t, os.WriteFile(other, []byte("mine"), 0o644))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	for _, file := range []string{other, path, filepath.Join(dir, "link"), dir} {
		if err := backup(path, file); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if data, err := os.ReadFile(other); err != nil || string(data) != "mine" {
		t.Errorf("%q, %v", data, err)
	}
	if err := backup(path, filepath.Join(dir, "no/such/dir")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := backup(other, filepath.Join(dir, "new")); !errors.Is(err, ErrNotDatabase) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	big := filepath.Join(dir, "big.db")
	s := openTest(t, big)
	must(t, s.WriteAt(create(t, s, "f", syscall.S_IFREG|0o600), make([]byte, 3*backupStep), 0, nil, Now()))
	must(t, s.Close())
	var copied int64
	err := Backup(ctx, big, filepath.Join(dir, "new"), func(n int64) { copied += n; cancel() })
	if !errors.Is(err, context.Canceled) || copied != backupStep {
		t.Errorf("%v after %d bytes", err, copied)
	}
	if ents, err := os.ReadDir(dir); err != nil || len(ents) != 4 {
		t.Errorf("%v, %v", ents, err)
	}
	must(t, backup(big, filepath.Join(dir, "new")))
}

// A log that a killed session has left is part of the copy, and stays.
func TestBackupOfALog(t *testing.T) {
	path := sample(t)
	alterInLog(t, path, "UPDATE fs_inode SET uid=4711 WHERE ino=2")
	before := bytesOf(t, path)
	file := filepath.Join(t.TempDir(), "copy.db")
	must(t, backup(path, file))
	if bytesOf(t, path) != before {
		t.Error("the file has changed")
	}
	s, err := Open(file, Options{ReadOnly: true})
	must(t, err)
	if uid := lookup(t, s, "file").Attr.UID; uid != 4711 {
		t.Errorf("owner is %d", uid)
	}
	must(t, s.Close())
	if _, err := os.Stat(file + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log beside the copy: %v", err)
	}
}
