package replica

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"

	"github.com/riverlytech/art/internal/cli"
)

// The log of a session ends with it, so Litestream begins each session with a copy of the whole database. In its place, the hashes of all pages
// are kept as they were at the end of a session that was copied to its end, or when the copy was brought back: the next one begins with the
// pages that are others by then, whoever has written them, and goes on from that generation.

// pagesName is the file of the hashes, beside what waits. It begins with a line, which is a noted.
const pagesName = "pages"

// noPagesError says that the next generation cannot go on from the hashes.
type noPagesError struct{ error }

// A page is the payload's to choose, so the hash is one that nobody finds two pages for.
const sumSize = sha256.Size

// noted says of which state the hashes are.
type noted struct {
	Place      string `json:"place"`      // the place's own name for itself
	Generation string `json:"generation"` // whose
	TXID       string `json:"txid"`       // last file this is the state after
	PageSize   uint32 `json:"page_size"`
	Pages      uint32 `json:"pages"`
}

func (n *noted) last() ltx.TXID {
	id, err := ltx.ParseTXID(n.TXID)
	if err != nil {
		return 0
	}
	return id
}

// openPages returns the hashes that are kept. The caller closes the file.
func openPages(kept string) (*noted, *bufio.Reader, *os.File, error) {
	f, err := os.Open(filepath.Join(kept, pagesName))
	if err != nil {
		return nil, nil, nil, err
	}
	r := bufio.NewReaderSize(f, 1<<16)
	n := &noted{}
	line, err := r.ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(line, n)
	}
	info, serr := f.Stat()
	if err == nil && serr == nil && (n.last() == 0 || info.Size() != int64(len(line))+sumSize*int64(n.Pages)) {
		err = errors.New("it is damaged")
	}
	if err = errors.Join(err, serr); err != nil {
		f.Close()
		return nil, nil, nil, err
	}
	return n, r, f, nil
}

// keptPages returns of which state hashes are kept, or nil.
func keptPages(kept string) *noted {
	n, _, f, err := openPages(kept)
	if err != nil {
		return nil // the whole database is copied
	}
	f.Close()
	return n
}

func forgetPages(kept string) error {
	if err := os.Remove(filepath.Join(kept, pagesName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.Reason(err)
	}
	return nil
}

// pageSize reads it from the header of a database (https://www.sqlite.org/fileformat.html, 1.3.2).
func pageSize(f io.ReaderAt) (uint32, error) {
	var b [2]byte
	if _, err := f.ReadAt(b[:], 16); err != nil {
		return 0, err
	}
	size := uint32(binary.BigEndian.Uint16(b[:]))
	if size == 1 {
		size = 65536
	}
	if !ltx.IsValidPageSize(size) {
		return 0, fmt.Errorf("the database has pages of %d bytes", size)
	}
	return size, nil
}

// start has Litestream begin, with what has changed since the hashes were taken where the generation goes on from that. The database is open, so that
// its log stays.
func (j *Job) start(open *sql.DB) error {
	if j.tenure.generation.Base != "" {
		if err := j.changedSince(open); err != nil {
			return &noPagesError{err}
		}
	}
	err := j.store.Open(j.ctx)
	if err == nil && j.tenure.generation.Base != "" {
		_ = j.db.Sync(j.ctx) // or later: if the log is another one by then, it copies the whole database
	}
	return err
}

// changedSince is writeChanged, with the log kept as it is meanwhile.
func (j *Job) changedSince(open *sql.DB) error {
	// A reader keeps checkpoints from writing what is later than it sees to the database (https://www.sqlite.org/walformat.html, 2.3.1).
	tx, err := open.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var tables int
	if err := tx.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	return j.busy(func() error { return j.writeChanged(j.ctx) })
}

// writeChanged writes, as the next file of Litestream's, what differs in the database from the pages that are kept. Litestream goes on from there with
// the frame of the log that comes next; if the log was begun anew since, its salts differ, and Litestream copies the whole database as it does
// whenever it has missed something.
func (j *Job) writeChanged(ctx context.Context) error {
	n, sums, f, err := openPages(j.what.Kept)
	if err != nil {
		return err
	}
	defer f.Close()
	now, err := j.image(ctx)
	if err != nil {
		return err
	}
	defer now.log.Close()
	if now.size != n.PageSize {
		return errors.New("the database has pages of another size now")
	}
	path := j.db.LTXPath(0, n.last()+1, n.last()+1)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return replace(path, func(w io.Writer) error {
		enc, err := ltx.NewEncoder(w)
		if err != nil {
			return err
		}
		err = enc.EncodeHeader(ltx.Header{
			Version: ltx.Version, Flags: ltx.HeaderFlagNoChecksum, PageSize: now.size, Commit: now.pages, MinTXID: n.last() + 1, MaxTXID: n.last() + 1,
			Timestamp: time.Now().UnixMilli(), WALOffset: litestream.WALHeaderSize, WALSize: now.end - litestream.WALHeaderSize,
			WALSalt1: now.salts[0], WALSalt2: now.salts[1],
		})
		before := make([]byte, sumSize)
		for number := uint32(1); err == nil && number <= now.pages; number++ {
			known := number <= n.Pages
			if known {
				if _, err := io.ReadFull(sums, before); err != nil {
					return err
				}
			}
			page, rerr := now.page(number)
			if rerr != nil {
				return rerr
			}
			// Litestream looks for the last frame of the log in the file.
			sum := sha256.Sum256(page)
			if _, inLog := now.newer[number]; number == ltx.LockPgno(now.size) || known && !inLog && number > 1 && bytes.Equal(sum[:], before) {
				continue
			}
			if err = enc.EncodePage(ltx.PageHeader{Pgno: number}, page); err == nil {
				err = context.Cause(ctx)
			}
		}
		if err != nil {
			return err
		}
		return enc.Close()
	})
}

// notePages keeps the hashes of all pages, as they are in the copy. Nobody else has the database, and all is copied.
func (j *Job) notePages(ctx context.Context) error {
	last, err := j.lastCopied()
	if err != nil {
		return err
	}
	now, err := j.image(ctx)
	if err != nil {
		return err
	}
	defer now.log.Close()
	if now.salts != [2]uint32{last.WALSalt1, last.WALSalt2} || now.end != last.WALOffset+last.WALSize {
		return errors.New("the log has more than was copied")
	}
	return now.note(ctx, j.what.Kept, j.tenure.says().Place, j.tenure.generation, last.MaxTXID)
}

// noteBrought keeps the hashes of the pages of a database that was just brought back, and not written since.
func (c *Copy) noteBrought(ctx context.Context, path string, g Generation, last ltx.TXID) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := pageSize(f)
	if err != nil {
		return err
	}
	i := &image{file: f, size: size, pages: uint32(sizeOf(path) / int64(size)), buffer: make([]byte, size)}
	return i.note(ctx, c.kept, c.Who.Place, g, last)
}

// note keeps the hashes of all pages, as those after a file of a generation.
func (i *image) note(ctx context.Context, kept, place string, g Generation, last ltx.TXID) error {
	line, err := json.Marshal(noted{Place: place, Generation: g.ID, TXID: last.String(), PageSize: i.size, Pages: i.pages})
	if err != nil {
		return err
	}
	return replace(filepath.Join(kept, pagesName), func(w io.Writer) error {
		_, err := w.Write(append(line, '\n'))
		for number := uint32(1); err == nil && number <= i.pages; number++ {
			var page []byte
			if page, err = i.page(number); err == nil {
				sum := sha256.Sum256(page)
				if _, err = w.Write(sum[:]); err == nil {
					err = context.Cause(ctx)
				}
			}
		}
		return err
	})
}

// image is a database as its log has it at the end of a transaction.
type image struct {
	file, log   *os.File
	size, pages uint32           // of a page; how many
	newer       map[uint32]int64 // the frames of pages that are in the log
	end         int64            // of the last frame
	salts       [2]uint32
	buffer      []byte
}

// image looks at the database as it is. The caller keeps checkpoints away, and closes the log.
func (j *Job) image(ctx context.Context) (*image, error) {
	size, err := pageSize(j.file)
	if err != nil {
		return nil, err
	}
	log, err := os.Open(j.what.Database + "-wal")
	if err != nil {
		return nil, err
	}
	i := &image{file: j.file, log: log, size: size, buffer: make([]byte, size)}
	var header [litestream.WALHeaderSize]byte // https://www.sqlite.org/fileformat.html, 4.1
	var frames *litestream.WALReader
	if _, err = log.ReadAt(header[:], 0); err == nil {
		i.salts = [2]uint32{binary.BigEndian.Uint32(header[16:]), binary.BigEndian.Uint32(header[20:])}
		frames, err = litestream.NewWALReader(log, slog.Default())
	}
	if err == nil {
		i.newer, i.end, i.pages, err = frames.PageMap(ctx)
	}
	if err == nil && i.pages == 0 {
		err = errors.New("the log has no transaction")
	}
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("read the log: %w", err)
	}
	return i, nil
}

// page returns a page, until the next one is asked for.
func (i *image) page(number uint32) ([]byte, error) {
	if at, ok := i.newer[number]; ok {
		_, err := i.log.ReadAt(i.buffer, at+litestream.WALFrameHeaderSize)
		return i.buffer, err
	}
	_, err := i.file.ReadAt(i.buffer, int64(number-1)*int64(i.size))
	return i.buffer, err
}

// replace has a file be what write writes, durably.
func replace(path string, write func(io.Writer) error) error {
	out, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(path + ".tmp")
	defer out.Close()
	w := bufio.NewWriterSize(out, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// lastCopied returns the header of the last file that was copied.
func (j *Job) lastCopied() (ltx.Header, error) {
	pos, err := j.db.Pos()
	if err != nil {
		return ltx.Header{}, err
	}
	if pos.TXID == 0 || pos.TXID != j.db.Replica.Pos().TXID {
		return ltx.Header{}, errors.New("not all is copied")
	}
	f, err := os.Open(j.db.LTXPath(0, pos.TXID, pos.TXID))
	if err != nil {
		return ltx.Header{}, err
	}
	defer f.Close()
	dec := ltx.NewDecoder(f)
	err = dec.DecodeHeader()
	return dec.Header(), err
}
