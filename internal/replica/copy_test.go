package replica

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/sqlvfs"
)

// What copies is another process than the session's server, as always: the locks of one SQLite are nothing to another in the same process.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "copy" {
		os.Exit(copyInChild(os.Args[2], os.Args[3], os.Args[4]))
	}
	os.Exit(m.Run())
}

// copyInChild copies to a directory until standard input ends, and keeps at most so many bytes. The directory may be one of sftp://test.
func copyInChild(database, dir, most string) int {
	url := "file://" + dir
	if there, ok := strings.CutPrefix(dir, "sftp://test"); ok {
		reachTest(newTestServer(nil))
		url, dir = dir, there
	}
	job, err := Open(&control.Replica{Database: database, Name: "a", Place: url, Kept: dir + "-kept", Token: "t"}, nil, func(control.ReplicaState) {})
	if err == nil {
		if job.most, err = strconv.ParseUint(most, 10, 64); err == nil {
			end := make(chan struct{})
			go func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				close(end)
			}()
			err = job.Run(end)
		}
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

// sized is how many bytes are in the files below a directory.
func sized(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if info, serr := os.Lstat(path); err == nil && serr == nil && !e.IsDir() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// What waits for a place that is away is bounded. When the place is back, the copy is whole again.
func TestPlaceThatIsAway(t *testing.T) {
	work := t.TempDir()
	database, dir := filepath.Join(work, "a.db"), filepath.Join(work, "copy")
	s, err := sqlvfs.Open(database, sqlvfs.Options{Create: true, Root: sqlvfs.NewRoot(), Replicated: true})
	must(t, err)
	var in *sqlvfs.Inode
	must(t, s.Update(func(tx *sqlvfs.Tx) (err error) {
		if in, err = tx.New(sqlvfs.Attr{Mode: syscall.S_IFREG | 0o600, Nlink: 1}); err != nil {
			return err
		}
		return tx.Link(tx.Root(), "f", in)
	}))
	const part, most = 1 << 20, 8 << 20
	var want []byte
	write := func(parts int) {
		t.Helper()
		for range parts {
			data := make([]byte, part)
			_, _ = rand.Read(data)
			must(t, s.WriteAt(in, data, int64(len(want)), nil, sqlvfs.Now()))
			want = append(want, data...)
		}
		must(t, s.Sync())
	}
	write(1)
	cmd := exec.Command(os.Args[0], "copy", database, dir, strconv.Itoa(most))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	defer cmd.Process.Kill()
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("there is no %s", what)
			}
		}
	}
	until("copy", func() bool { return sized(dir) > part })
	must(t, os.Rename(dir, dir+"-away"))
	must(t, os.WriteFile(dir, nil, 0o600))
	write(16)
	until("more than is kept", func() bool { return sized(dir+"-kept") > most })
	until("end of what waits", func() bool { return sized(dir+"-kept") == 0 })
	write(4)
	must(t, os.Remove(dir))
	must(t, os.Rename(dir+"-away", dir))
	until("whole copy", func() bool { return sized(dir) > int64(len(want)) })
	write(1)
	must(t, s.View(func(tx *sqlvfs.Tx) error {
		tx.Put(in)
		return nil
	}))
	must(t, s.Close())
	must(t, stdin.Close())
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}

	copied, err := Find(t.Context(), "file://"+dir)
	must(t, err)
	back := filepath.Join(work, "back.db")
	must(t, copied.Restore(t.Context(), back, time.Time{}))
	if who := copied.Who; who.State != Ended || !who.Lease.Ended || len(who.Generations) != 2 {
		t.Errorf("the copy is %+v", who)
	}
	r, err := sqlvfs.Open(back, sqlvfs.Options{ReadOnly: true})
	must(t, err)
	defer r.Close()
	must(t, r.View(func(tx *sqlvfs.Tx) error {
		child, _, _, err := tx.Child(tx.Root(), "f")
		if err == nil {
			in, err = tx.Get(child.Ino)
		}
		return err
	}))
	got := make([]byte, len(want)+1)
	if n, err := r.ReadAt(in, got, 0, nil); n != len(want) || !errors.Is(err, io.EOF) || !bytes.Equal(got[:n], want) {
		t.Errorf("%d bytes are in the copy, %v: is it all: %v", n, err, bytes.Equal(got[:n], want))
	}
}

// A store that was busy while the session ran is given time after its end, too, and another session's place no more than a lease lasts.
func TestClaimedEnough(t *testing.T) {
	began := time.Now()
	away, held := errors.New("it does not answer"), error(&heldError{})
	for _, c := range []struct {
		err        error
		ended, now time.Duration
		want       bool
	}{
		{away, time.Hour, time.Hour, false},
		{away, time.Hour, time.Hour + stuck - 1, false},
		{away, time.Hour, time.Hour + stuck + 1, true},
		{held, time.Second, leaseTime, false},
		{held, time.Second, leaseTime + leaseRenewed + 1, true},
		{held, time.Hour, time.Hour, true},
	} {
		if got := claimedEnough(c.err, began, began.Add(c.ended), began.Add(c.now)); got != c.want {
			t.Errorf("%v, ended after %v, after %v: %v", c.err, c.ended, c.now, got)
		}
	}
}
