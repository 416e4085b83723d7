package diskvfs

import "encoding/binary"

// gather holds frames of the write-ahead log that follow one another, to be written at once. SQLite writes two times
// for each page, the frame's header and the page (walWriteOneFrame in https://sqlite.org/src/file/src/wal.c).
//
// Nobody else looks for them meanwhile: SQLite puts frames into the log's index after the last of them was written, and lets
// others read those of a transaction only then; after a crash, frames count up to the last one that commits
// (https://sqlite.org/fileformat2.html, section 4). So they are in the file when that one is, and whenever this connection asks for them.
type gather struct {
	frames []byte // what is not in the file yet
	off    int64  // where it goes
	end    int64  // where the frame behind the last one begins; 0: unknown
	header bool   // the last write was a frame's header, of which the page is to come
	commit bool   // and that frame commits
}

const (
	logHeader   = 32 // bytes (https://sqlite.org/fileformat2.html, section 4.1)
	frameHeader = 24
	gatherMost  = 256 << 10 // a longer write is no faster
)

// take tells whether it has taken a write, and whether all that it holds must be in the file now.
func (g *gather) take(p []byte, off int64) (taken, full bool) {
	switch {
	case g.header && off == g.end+frameHeader:
		g.header, g.end = false, off+int64(len(p))
		full = g.commit
	case !g.header && len(p) == frameHeader && off == g.end:
		// Where nothing was written before: SQLite writes headers of earlier frames anew too, and no pages after them.
		g.header = true
		g.commit = binary.BigEndian.Uint32(p[4:]) != 0
	default:
		return false, false
	}
	if len(g.frames) == 0 {
		g.off = off
	}
	g.frames = append(g.frames, p...)
	return true, full || len(g.frames) >= gatherMost
}

// pass notes a write that was not taken.
func (g *gather) pass(p []byte, off int64) {
	g.header = false
	switch {
	case off == 0 && len(p) == logHeader:
		g.end = logHeader
	case len(p) == frameHeader:
		g.end, g.header, g.commit = off, true, true
	}
}

// cut forgets what would begin at or behind a size that the file is about to have. On a full disk it could not be written
// before that.
func (g *gather) cut(size int64) {
	if size <= g.off {
		g.frames, g.end, g.header = g.frames[:0], 0, false
	}
}

// overlaps tells whether some of a range of the file is here.
func (g *gather) overlaps(n int, off int64) bool {
	return off < g.off+int64(len(g.frames)) && off+int64(n) > g.off
}
