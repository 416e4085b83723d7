package sqlvfs

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Another process, with SQLite as it comes, sees a whole database at every moment at which one writes to it, and every file with
// all of its content or with none.
func TestOtherProcessesReadMeanwhile(t *testing.T) {
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Fatal("there is no sqlite3: make test installs it")
	}
	h := defaults
	h.logLimit, h.logMost = 1<<20, 2<<20
	path := filepath.Join(t.TempDir(), "a.db")
	s, err := openStore(path, Options{Create: true, Root: rootAttr}, h)
	must(t, err)
	defer s.Close()
	looked := make(chan error, 1)
	go func() {
		for range 20 {
			out, err := exec.Command(program, "-readonly", "-cmd", ".timeout 60000", path, `PRAGMA integrity_check;
				SELECT count(*) FROM fs_inode WHERE (mode&0xf000)=0x8000 AND size<>(SELECT sum(length(data)) FROM fs_data WHERE ino=fs_inode.ino)`).CombinedOutput()
			if got := strings.Fields(string(out)); err != nil || strings.Join(got, " ") != "ok 0" {
				looked <- fmt.Errorf("%w: %s", err, out)
				return
			}
		}
		looked <- nil
	}()
	for i := 0; ; i++ {
		select {
		case err := <-looked:
			must(t, err)
			return
		default:
		}
		f := create(t, s, fmt.Sprint(i%20), syscall.S_IFREG|0o600)
		must(t, s.WriteAt(f, bytes.Repeat([]byte{byte(i)}, 100_000+i%20*50_000), 0, nil, Now()))
		put(s, f)
		if i%7 == 0 {
			must(t, s.Sync())
		}
		if i >= 19 {
			old := lookup(t, s, fmt.Sprint((i+1)%20))
			step(s, func(tx *Tx) {
				must(t, tx.Unlink(tx.Root(), fmt.Sprint((i+1)%20)))
				old.Attr.Nlink = 0
				tx.Dirty(old)
				tx.Put(old)
			})
		}
	}
}
