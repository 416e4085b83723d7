package diskvfs

import (
	"sync"

	"github.com/ncruces/go-sqlite3/vfs"
	"golang.org/x/sys/unix"
)

// ahead reads pages of the database that follow one another at once, for who reads much content in order: SQLite asks for one after
// the other.
//
// What was read is good for one read transaction. All that SQLite has in that from the database, and not from the log, stays as it
// is: a checkpoint copies no page there that a reader needs in an older version (https://sqlite.org/wal.html, section 2.2).
type ahead struct {
	left  int    // bytes that are about to be asked for; 0: nothing is read ahead
	pages []byte // what was
	off   int64  // where that is from
	end   int64  // where the page ends that was asked for last; 0: none was
}

// buffers are for pages, of connections that are about to read more; the others keep none.
var buffers sync.Pool

const (
	treeShare = 16 // of so many pages of content, about, there is one of the tree
	treeGap   = 2  // pages of the tree, at most, that may be between those of content
	// behind is how far back the kernel is told that a part of the database is not needed again. It has that in pieces of 2 MiB, and
	// gives each up as a whole.
	behind, piece = 4 << 20, 2 << 20
	// worthKeeping is how large memory for pages is, in bytes, that another transaction may want.
	worthKeeping = 512 << 10
)

// Ahead says how many bytes of content the read transaction that is about to begin will ask for, and where the one has ended that
// read what comes before it; 0: none has. It returns what is to be called at the end of the transaction, and says where that is.
//
// When one has gone on where another ended, the host's kernel is told to give up what came before: the guest's has it by now. To find
// memory for both takes longer than to read.
func (f *File) Ahead(bytes int, after int64) (end func() int64) {
	a := &f.ahead
	a.left, a.end = bytes+bytes/treeShare, after
	return func() int64 {
		if file, ok := f.File.(interface{ Fd() uintptr }); ok && after > 0 {
			to := after - after%piece
			from := max(to-behind, 0)
			_ = unix.Fadvise(int(file.Fd()), from, to-from, unix.FADV_DONTNEED) // it is advice
		}
		if pages := a.pages; cap(pages) >= worthKeeping {
			buffers.Put(&pages)
		}
		a.left, a.pages = 0, nil
		return a.end
	}
}

// readAt reads a page.
func (a *ahead) readAt(f vfs.File, p []byte, off int64) (n int, err error) {
	at := off - a.off
	if at < 0 || at+int64(len(p)) > int64(len(a.pages)) {
		want := len(p)
		if a.end > 0 && off >= a.end && off <= a.end+treeGap*int64(len(p)) {
			want = max(want, a.left)
		}
		at, err = 0, a.fill(f, off, want)
	}
	a.left, a.end = max(a.left-len(p), 1), off+int64(len(p))
	if n = copy(p, a.pages[at:]); n == len(p) {
		err = nil
	}
	return n, err
}

// fill reads what there is of so many bytes. If that is less, the error says why.
func (a *ahead) fill(f vfs.File, off int64, want int) error {
	if cap(a.pages) < want {
		if p, ok := buffers.Get().(*[]byte); ok && cap(*p) >= want {
			a.pages = *p
		} else {
			a.pages = make([]byte, want)
		}
	}
	n, err := f.ReadAt(a.pages[:want], off)
	a.pages, a.off = a.pages[:n], off
	return err
}
