package diskvfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"
)

// hostFile is a file of which reads and writes are counted, and may fail.
type hostFile struct {
	vfs.File
	f      *os.File
	writes int
	fail   error
}

func (h *hostFile) ReadAt(p []byte, off int64) (int, error) { return h.f.ReadAt(p, off) }
func (h *hostFile) WriteAt(p []byte, off int64) (int, error) {
	if h.writes++; h.fail != nil {
		return 0, h.fail
	}
	return h.f.WriteAt(p, off)
}
func (h *hostFile) Truncate(size int64) error { return h.f.Truncate(size) }
func (h *hostFile) Sync(vfs.SyncFlag) error   { return nil }
func (h *hostFile) Size() (int64, error) {
	st, err := h.f.Stat()
	return st.Size(), err
}

const testPage = 512

// log is a log that is written as SQLite writes it, and what should be in it.
type log struct {
	*File
	host *hostFile
	want []byte
}

func newLog(t *testing.T) *log {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	h := &hostFile{f: f}
	return &log{File: &File{File: h, isLog: true, syncs: &syncs{}}, host: h}
}

func (l *log) write(t *testing.T, p []byte, off int) {
	t.Helper()
	if n, err := l.WriteAt(p, int64(off)); n != len(p) || err != nil {
		t.Fatal(n, err)
	}
	if end := off + len(p); end > len(l.want) {
		l.want = append(l.want, make([]byte, end-len(l.want))...)
	}
	copy(l.want[off:], p)
}

func frameAt(i int) int { return logHeader + i*(frameHeader+testPage) }

// frame writes the i-th frame.
func (l *log) frame(t *testing.T, i int, fill byte, commits bool) {
	t.Helper()
	header := bytes.Repeat([]byte{fill}, frameHeader)
	binary.BigEndian.PutUint32(header[4:], 0)
	if commits {
		header[7] = 1
	}
	l.write(t, header, frameAt(i))
	l.write(t, bytes.Repeat([]byte{fill}, testPage), frameAt(i)+frameHeader)
}

// inFile tells whether all that was written is in the file.
func (l *log) inFile(t *testing.T) bool {
	t.Helper()
	got, err := os.ReadFile(l.host.f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(got, l.want)
}

// A transaction is in the file with the frame that commits it, by two writes where the log's end was not known, and by
// one after that.
func TestCommitIsWrittenAtOnce(t *testing.T) {
	l := newLog(t)
	l.write(t, make([]byte, logHeader), 0)
	next := 0
	for range 3 {
		l.host.writes = 0
		for range 9 {
			l.frame(t, next, byte(next), false)
			next++
		}
		if l.host.writes != 0 {
			t.Errorf("%d writes before the commit", l.host.writes)
		}
		l.frame(t, next, byte(next), true)
		next++
		if l.host.writes != 1 || !l.inFile(t) {
			t.Errorf("%d writes, all of it in the file: %v", l.host.writes, l.inFile(t))
		}
	}
}

// Whatever SQLite does with a log, this connection reads what it has written, and the file has it all after what
// makes others look: a commit, headers that are written anew, a sync, and a question for the size.
func TestGatheredIsFound(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		l := newLog(t)
		committed, next := 0, 0
		for range 100 {
			whole := true
			switch fill := byte(rnd.Uint32()); rnd.IntN(12) {
			case 0, 1: // a commit
				l.frame(t, next, fill, true)
				next++
				committed = next
			case 2: // a page of the transaction is spilled once more
				whole = false
				if next > committed {
					l.write(t, bytes.Repeat([]byte{fill}, testPage), frameAt(committed+rnd.IntN(next-committed))+frameHeader)
				}
			case 3: // then the commit has the headers from there written anew
				l.frame(t, next, fill, true)
				next++
				for i := committed; i < next; i++ {
					if _, err := l.ReadAt(make([]byte, frameHeader+testPage), int64(frameAt(i))); err != nil {
						t.Fatal(err)
					}
					header := bytes.Repeat([]byte{fill}, frameHeader)
					if i < next-1 {
						binary.BigEndian.PutUint32(header[4:], 0)
					}
					l.write(t, header, frameAt(i))
				}
				committed = next
			case 4: // a rollback
				whole = false
				next = committed
			case 5: // the log begins anew
				l.frame(t, next, fill, true)
				l.write(t, bytes.Repeat([]byte{fill}, logHeader), 0)
				committed, next = 0, 0
			case 6:
				if err := l.Sync(vfs.SYNC_NORMAL); err != nil {
					t.Fatal(err)
				}
			case 7:
				if size, err := l.Size(); err != nil || size != int64(len(l.want)) {
					t.Fatalf("%d bytes instead of %d, %v", size, len(l.want), err)
				}
			case 8:
				whole = false
				if len(l.want) > 0 {
					off := rnd.IntN(len(l.want))
					p := make([]byte, 1+rnd.IntN(len(l.want)-off))
					if _, err := l.ReadAt(p, int64(off)); err != nil || !bytes.Equal(p, l.want[off:off+len(p)]) {
						t.Fatalf("seed %d: read %d bytes at %d: %v", seed, len(p), off, err)
					}
				}
			default:
				whole = false
				l.frame(t, next, fill, false)
				next++
			}
			if whole && !l.inFile(t) {
				t.Fatalf("seed %d: the file lacks some of it", seed)
			}
		}
	}
}

// What cannot be written is told by the write that should have had it in the file, and is not written later.
func TestGatheredThatCannotBeWritten(t *testing.T) {
	l := newLog(t)
	l.write(t, make([]byte, logHeader), 0)
	l.frame(t, 0, 1, true)
	l.frame(t, 1, 2, false)
	l.host.fail = syscall.ENOSPC
	header := bytes.Repeat([]byte{3}, frameHeader)
	if _, err := l.WriteAt(header, int64(frameAt(2))); err != nil {
		t.Error(err)
	}
	if _, err := l.WriteAt(make([]byte, testPage), int64(frameAt(2)+frameHeader)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the commit: %v", err)
	}
	if !errors.Is(l.failure, syscall.ENOSPC) {
		t.Errorf("the cause is %v", l.failure)
	}
	l.host.fail = nil
	l.want = l.want[:frameAt(1)]
	if !l.inFile(t) {
		t.Error("the file has some of it")
	}
	l.frame(t, 1, 4, true)
	if !l.inFile(t) {
		t.Error("the file lacks the next transaction")
	}
}

// On a full disk, what is behind the new end of the log need not be written first.
func TestTruncateOnAFullDisk(t *testing.T) {
	l := newLog(t)
	l.write(t, make([]byte, logHeader), 0)
	l.write(t, make([]byte, frameHeader), logHeader)
	l.write(t, make([]byte, testPage), logHeader+frameHeader)
	l.host.fail = syscall.ENOSPC
	if err := l.Truncate(0); err != nil {
		t.Error(err)
	}
	if size, err := l.Size(); size != 0 || err != nil {
		t.Errorf("%d bytes, %v", size, err)
	}
}
