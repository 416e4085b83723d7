package whose

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

// written is a Log in memory. Only one goroutine at a time has it, by the lock of Commands.
type written struct {
	list  []sqlvfs.Process
	codes map[int64]*int
}

func (w *written) AddProcess(p sqlvfs.Process) int64 {
	w.list = append(w.list, p)
	return int64(len(w.list))
}

func (w *written) EndProcess(id int64, _ sqlvfs.Timespec, code *int) { w.codes[id] = code }

// TestAuthor is art, which tells of commands, is asked about threads, and in the end answers no more.
func TestAuthor(t *testing.T) {
	art, theirs, err := libexec.Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	defer art.Close()
	fd, err := unix.MemfdCreate("ring", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := control.MapRing(os.NewFile(uintptr(fd), "ring"))
	if err != nil {
		t.Fatal(err)
	}
	log := &written{codes: map[int64]*int{}}
	c := Begin(theirs, ring, log)
	tell := func(m control.Command) {
		t.Helper()
		if ok, _ := ring.Put(control.Marshal(&m)); !ok {
			t.Fatal("no room")
		}
	}
	is := func(what string, tid uint32, ino fs.Ino, want fs.Author) {
		t.Helper()
		if got := c.Author(tid, ino); got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	tell(control.Command{Kind: control.Executed, PID: 7, Argv: []byte("sh\x00-c\x00\x00"), At: time.Now()})
	tell(control.Command{Kind: control.Executed, PID: 8, Parent: 7, Argv: []byte("cp"), Cut: true, Dir: "/d", At: time.Now()})
	is("a command", 8, 100, fs.Author{Process: 2})
	if p := log.list[1]; p.Parent != 1 || p.Dir != "/d" || !p.Cut || len(log.list[0].Argv) != 3 || log.list[0].Argv[2] != "" {
		t.Errorf("written: %+v", log.list)
	}

	// A mapping is of who has mapped the file last, and without one of who has last written.
	is("written only", 0, 100, fs.Author{Process: 2, Mapped: true})
	tell(control.Command{Kind: control.Mapped, Parent: 7, Inode: 100})
	is("mapped", 0, 100, fs.Author{Process: 1, Mapped: true})
	is("of nobody", 0, 101, fs.Author{Mapped: true})

	// It goes on as another command, and ends.
	tell(control.Command{Kind: control.Executed, PID: 8, Parent: 8, Argv: []byte("ls\x00"), At: time.Now()})
	is("another command", 8, 0, fs.Author{Process: 3})
	tell(control.Command{Kind: control.Exited, PID: 8, Code: 3, At: time.Now()})
	is("what a command does at its end", 8, 0, fs.Author{Process: 3})
	if code, ended := log.codes[2]; !ended || code != nil || log.codes[3] == nil || *log.codes[3] != 3 {
		t.Errorf("ends: %v", log.codes)
	}

	// One that art has numbered, but not told of, was lost.
	tell(control.Command{Kind: control.Executed, PID: 20, Argv: []byte("a\x00"), At: time.Now(), Number: 4})
	tell(control.Command{Kind: control.Executed, PID: 21, Argv: []byte("b\x00"), At: time.Now(), Number: 7})
	tell(control.Command{Kind: control.Executed, PID: 22, Argv: []byte("c\x00"), At: time.Now(), Number: 8})
	is("a numbered command", 22, 0, fs.Author{Process: 6})
	for process, want := range map[int64]int64{4: 4, 5: 7, 6: 8, 0: 0} {
		if got := c.Number(process); got != want {
			t.Errorf("process %d is command %d, want %d", process, got, want)
		}
	}

	// What has waited for a while is heard without a request.
	tell(control.Command{Kind: control.Executed, PID: 30, Parent: 7, Argv: []byte("waiting\x00"), At: time.Now()})
	if err := unix.Send(int(art.Fd()), control.Marshal(&control.Command{Kind: control.Waiting}), 0); err != nil {
		t.Fatal(err)
	}
	for heard := false; !heard; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		heard = len(log.list) == 7
		c.mu.Unlock()
	}

	// A thread is asked for once. What it was told before, in the ring, holds when the answer comes.
	asked := make(chan int, 1)
	go func() {
		buf := make([]byte, control.MaxCommand)
		n, err := unix.Read(int(art.Fd()), buf)
		var m control.Command
		if err == nil {
			err = control.Unmarshal(buf[:n], &m)
		}
		if err == nil {
			ring.Put(control.Marshal(&control.Command{Kind: control.Executed, PID: 31, Parent: 7, Argv: []byte("just now\x00"), At: time.Now()}))
			err = unix.Send(int(art.Fd()), control.Marshal(&control.Command{Kind: control.Known, PID: m.PID, Parent: 31}), 0)
		}
		if err != nil {
			t.Error(err)
		}
		asked <- m.PID
	}()
	is("a fork", 9, 0, fs.Author{Process: 8})
	if tid := <-asked; tid != 9 {
		t.Errorf("asked for %d", tid)
	}
	is("a fork that is known", 9, 0, fs.Author{Process: 8})

	// One of which art could not see whether it fails is asked for with its next request. It has failed, and goes on as what it was.
	tell(control.Command{Kind: control.Executed, PID: 40, Argv: []byte("tries\x00"), At: time.Now()})
	tell(control.Command{Kind: control.Executed, PID: 40, Parent: 40, Argv: []byte("tried\x00"), At: time.Now(), Doubtful: true})
	answer := func(failed, early bool) (answered chan bool) {
		answered = make(chan bool)
		go func() {
			defer close(answered)
			buf := make([]byte, control.MaxCommand)
			n, err := unix.Read(int(art.Fd()), buf)
			var m control.Command
			if err == nil {
				err = control.Unmarshal(buf[:n], &m)
			}
			if err != nil || m.Kind != control.Who || m.PID != 40 {
				t.Errorf("asked %+v, %v", m, err)
			}
			if failed {
				ring.Put(control.Marshal(&control.Command{Kind: control.Executed, PID: 40, Parent: 40, Argv: []byte("tries\x00"), At: time.Now()}))
			}
			if err := unix.Send(int(art.Fd()), control.Marshal(&control.Command{Kind: control.Known, PID: 40, Parent: 40, Doubtful: early}), 0); err != nil {
				t.Error(err)
			}
		}()
		return answered
	}
	answered := answer(false, true)
	is("one that has not become it yet", 40, 0, fs.Author{Process: 9})
	<-answered
	tell(control.Command{Kind: control.Known, PID: 41, Parent: 40, Doubtful: true})
	is("a fork of it", 41, 0, fs.Author{Process: 9})
	tell(control.Command{Kind: control.Mapped, Parent: 40, Inode: 102, Doubtful: true})
	is("mapped by it", 0, 102, fs.Author{Process: 9, Mapped: true})
	answered = answer(true, false)
	is("one that has failed", 40, 0, fs.Author{Process: 11})
	<-answered
	is("one that is known to have failed", 40, 0, fs.Author{Process: 11})
	tell(control.Command{Kind: control.Executed, PID: 40, Parent: 40, Argv: []byte("tried again\x00"), At: time.Now(), Doubtful: true})
	answered = answer(false, false)
	is("one that has not failed", 40, 0, fs.Author{Process: 12})
	<-answered
	is("one that is known not to have failed", 40, 0, fs.Author{Process: 12})

	// Where art does not answer, nobody waits for it again and again. What cannot be read is no message.
	if err := unix.Send(int(art.Fd()), []byte("nonsense"), 0); err != nil {
		t.Fatal(err)
	}
	for tid := range uint32(100) {
		is("without an answer", 1000+tid, 0, fs.Author{})
	}
	if n := waiting(t, art); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// waiting counts the messages that nobody has read.
func waiting(t *testing.T, sock *os.File) (n int) {
	t.Helper()
	buf := make([]byte, control.MaxCommand)
	for {
		if _, _, err := unix.Recvfrom(int(sock.Fd()), buf, unix.MSG_DONTWAIT); err != nil {
			return n
		}
		n++
	}
}
