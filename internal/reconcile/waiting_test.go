package reconcile

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// leavingByte is locked by a process that is about to close a database (package sqlvfs, lock.go).
const leavingByte = 0x40000000 + 1024

// listener calls heard when a text that holds the words is written.
type listener struct {
	io.Writer
	words string
	heard func()
}

func (l *listener) Write(text []byte) (int, error) {
	if strings.Contains(string(text), l.words) {
		defer l.heard()
	}
	return l.Writer.Write(text)
}

// leaves holds a database as a process does that is about to close it.
func leaves(t *testing.T, db string) *os.File {
	f, err := os.OpenFile(db, os.O_RDWR, 0)
	must(t, err)
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	must(t, unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Start: leavingByte, Len: 1}))
	return f
}

// Who waits for a session that is writing what is left is told so, on a terminal.
func TestWaitingIsTold(t *testing.T) {
	b := newBench(t)
	b.write("x", "1")
	b.push()
	want := fmt.Sprintf("waiting for process %d, which is about to close", os.Getpid())
	for _, terminal := range []bool{true, false} {
		for what, do := range map[string]func(...func(*Options)) (string, string){
			"push": b.push,
			"pull": func(change ...func(*Options)) (string, string) { return b.pull(b.ws, change...) },
		} {
			f := leaves(t, b.db)
			// Where nothing is told, no word says that it waits.
			patience := 100 * time.Millisecond
			if terminal {
				patience = time.Minute
			}
			end := time.AfterFunc(patience, func() { f.Close() })
			_, told := do(func(o *Options) {
				o.StderrTerminal, o.Stderr = terminal, &listener{o.Stderr, want, func() { f.Close() }}
			})
			end.Stop()
			if strings.Contains(told, want) != terminal {
				t.Errorf("%s, terminal %v: told %q", what, terminal, told)
			}
		}
	}
}

// So is a pull that waits for a relative of the database.
func TestWaitingForRelativesIsTold(t *testing.T) {
	parent, fork, _ := family(t)
	f := leaves(t, parent.db)
	want := fmt.Sprintf("waiting for process %d, which is about to close %s", os.Getpid(), parent.db)
	end := time.AfterFunc(time.Minute/2, func() { f.Close() })
	_, told := fork.pull(fork.ws, func(o *Options) {
		o.StderrTerminal, o.Stderr = true, &listener{o.Stderr, want, func() { f.Close() }}
	})
	end.Stop()
	if !strings.Contains(told, want) {
		t.Errorf("told %q, not %q", told, want)
	}
	parent.checkAll()
}
