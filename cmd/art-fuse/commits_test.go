package main

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

// Who commits does not wait for an art that reads nothing. What has no room is counted, and art hears of that when it reads again.
func TestCommitsWaitForNobody(t *testing.T) {
	art, theirs, err := libexec.Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	defer art.Close()
	c := newCommits(theirs, &control.Serve{Name: "ws", Layers: []control.Layer{{Kind: control.Git, Dir: "/r/.git"}}})
	c.begin(nil)
	e := &sqlvfs.CommitEvent{Checkpoints: []sqlvfs.Checkpoint{{ID: 3, Kind: sqlvfs.ByUser, Label: "x"}}}
	for range 100 {
		e.Files = append(e.Files, sqlvfs.FileChange{Path: "/ws/f", What: sqlvfs.Made | sqlvfs.Written}, sqlvfs.FileChange{Path: "/" + sqlvfs.GitLayer("ws") + "/HEAD"})
	}
	const times = 2000
	for range times {
		c.add(e) // which would hang here
	}
	ended := make(chan struct{})
	go func() {
		c.end()
		close(ended)
	}()
	files, checkpoints, lost := 0, 0, uint64(0)
	buf := make([]byte, 2*control.MaxCommit)
	for {
		n, err := unix.Read(int(art.Fd()), buf)
		if err != nil || n == 0 {
			break
		}
		m := &control.Commit{}
		if err := control.Unmarshal(buf[:n], m); err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Files {
			if f.Layer == 0 && (f.Path != "/ws/f" || f.What != control.FileMade|control.FileWritten) || f.Layer == 1 && f.Path != "/HEAD" {
				t.Fatalf("%+v", f)
			}
		}
		files, checkpoints, lost = files+len(m.Files), checkpoints+len(m.Checkpoints), lost+m.Lost
	}
	if lost == 0 || uint64(files)+lost != times*uint64(len(e.Files)) || checkpoints != times {
		t.Errorf("%d files, %d checkpoints, %d lost", files, checkpoints, lost)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("it does not end")
	}
}
