package replica

import (
	"bufio"
	"context"
	"crypto/sha256"
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
// are kept as they were at the end of a session that was copied to its end: the next one begins with the pages that are others by then,
// whoever has written them, and goes on from that generation.

// pagesName is the file of the hashes, beside what waits. It begins with a line, which is a noted.
const pagesName = "pages"

// noPagesError says that the next generation cannot go on from the hashes.
type noPagesError struct{ error }

// sumSize is how many bytes of a page's SHA-256 are kept. A page is the payload's to choose, so the hash has to be one that nobody finds two pages for.
const sumSize = 16

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

// start has Litestream begin, with what has changed since the hashes were taken where the generation goes on from that.
func (j *Job) start() error {
	ctx := context.Background()
	if j.tenure.generation.Base == "" {
		return j.store.Open(ctx)
	}
	err := j.writeChanged(ctx)
	if err == nil {
		if err = j.store.Open(ctx); err == nil {
			if err = j.db.Sync(ctx); err != nil { // while the log is known to be there
				_ = j.store.Close(ctx)
			}
		}
	}
	if err != nil {
		return &noPagesError{err}
	}
	return nil
}

// writeChanged writes, as the next file of Litestream's, what differs in the database from the pages that are kept, without its log. Litestream goes on from
// there with the first frame of the log. Pages that a checkpoint writes meanwhile are in the log, too; and if the log was begun anew
// since, its salts differ, and Litestream copies the whole database as it does whenever it has missed something.
func (j *Job) writeChanged(ctx context.Context) error {
	n, sums, f, err := openPages(j.what.Kept)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := pageSize(j.file)
	if err != nil {
		return err
	}
	if size != n.PageSize {
		return errors.New("the database has pages of another size now")
	}
	header := ltx.Header{
		Version: ltx.Version, Flags: ltx.HeaderFlagNoChecksum, PageSize: size, MinTXID: n.last() + 1, MaxTXID: n.last() + 1,
		Timestamp: time.Now().UnixMilli(), WALOffset: litestream.WALHeaderSize,
	}
	if header.WALSalt1, header.WALSalt2, err = logSalts(j.what.Database); err != nil {
		return err
	}
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	header.Commit = uint32(info.Size() / int64(size))
	path := j.db.LTXPath(0, header.MinTXID, header.MaxTXID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(path+".tmp", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(path + ".tmp")
	defer out.Close()
	enc, err := ltx.NewEncoder(out)
	if err == nil {
		err = enc.EncodeHeader(header)
	}
	page, before := make([]byte, size), make([]byte, sumSize)
	for pgno := uint32(1); err == nil && pgno <= header.Commit; pgno++ {
		if pgno <= n.Pages {
			_, err = io.ReadFull(sums, before)
		}
		if err == nil {
			_, err = j.file.ReadAt(page, int64(pgno-1)*int64(size))
		}
		if sum := sha256.Sum256(page); err != nil || pgno <= n.Pages && pgno > 1 && [sumSize]byte(sum[:]) == [sumSize]byte(before) || pgno == ltx.LockPgno(size) {
			continue
		}
		if err = enc.EncodePage(ltx.PageHeader{Pgno: pgno}, page); err == nil {
			err = context.Cause(ctx)
		}
	}
	if err == nil {
		err = enc.Close()
	}
	if err == nil {
		err = out.Sync()
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	return err
}

// logSalts reads the salts from the header of a database's log (https://www.sqlite.org/fileformat.html, 4.1).
func logSalts(database string) (a, b uint32, err error) {
	f, err := os.Open(database + "-wal")
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	var header [litestream.WALHeaderSize]byte
	if _, err := f.ReadAt(header[:], 0); err != nil {
		return 0, 0, fmt.Errorf("read the header of the log: %w", err)
	}
	return binary.BigEndian.Uint32(header[16:]), binary.BigEndian.Uint32(header[20:]), nil
}

// notePages keeps the hashes of all pages, as they are in the copy. Nobody else has the database, and all is copied.
func (j *Job) notePages(ctx context.Context) error {
	last, err := j.lastCopied()
	if err != nil {
		return err
	}
	size, err := pageSize(j.file)
	if err != nil {
		return err
	}
	log, err := os.Open(j.what.Database + "-wal")
	if err != nil {
		return err
	}
	defer log.Close()
	frames, err := litestream.NewWALReader(log, slog.Default())
	if err != nil {
		return err
	}
	newer, end, commit, err := frames.PageMap(ctx)
	if err != nil {
		return err
	}
	a, b, err := logSalts(j.what.Database)
	if err != nil {
		return err
	}
	if a != last.WALSalt1 || b != last.WALSalt2 || end != last.WALOffset+last.WALSize {
		return errors.New("the log has more than was copied")
	}
	n := noted{Place: j.tenure.says().Place, Generation: j.tenure.generation.ID, TXID: last.MaxTXID.String(), PageSize: size, Pages: commit}
	if commit == 0 {
		return errors.New("the log has no commit")
	}
	path := filepath.Join(j.what.Kept, pagesName)
	out, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(path + ".tmp")
	defer out.Close()
	w := bufio.NewWriterSize(out, 1<<16)
	line, err := json.Marshal(n)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	page := make([]byte, size)
	for pgno := uint32(1); err == nil && pgno <= commit; pgno++ {
		if at, ok := newer[pgno]; ok {
			_, err = log.ReadAt(page, at+litestream.WALFrameHeaderSize)
		} else {
			_, err = j.file.ReadAt(page, int64(pgno-1)*int64(size))
		}
		if err == nil {
			sum := sha256.Sum256(page)
			_, err = w.Write(sum[:sumSize])
		}
	}
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = out.Sync()
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	return err
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
