package replica

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"
	"golang.org/x/sync/errgroup"

	"github.com/riverlytech/art/internal/cli"
)

const (
	// mostPages bounds a database that is read page by page. What is known of each page takes 16 bytes of memory.
	mostPages = 16 << 20
	// planTime bounds finding out where pages are.
	planTime = 2 * time.Minute
	// planTries is how often that is begun anew, when files are merged meanwhile.
	planTries = 3
	// indexesAtOnce is how many files are looked into at the same time.
	indexesAtOnce = 8
	// indexPart is how much of an index is read at once, at most, in bytes. It is at the end of its file, and has about 10 bytes for each page,
	// which are 4 KiB or more: a part of indexShare, and indexLeast for what else is there.
	indexPart, indexShare, indexLeast = 512 << 10, 1 << 8, 1 << 10
	// pageMost bounds a page in a file, in bytes: it may be a little longer than without compression.
	pageMost = ltx.MaxPageSize + ltx.MaxPageSize/128
)

var (
	errCopyDamaged = errors.New("the copy is damaged")
	// errMovedOn says that files are gone which the state that is read was made of.
	errMovedOn = cli.WithHint(errors.New("the copy has moved on: the state that was read is not there any more"), "run it again")
)

// Pages is a copy that is read page by page, as it was when that began. What the place holds is checked as it is read; only [Copy.Restore] sees
// all of it, with the sums of whole files.
type Pages struct {
	copy     *Copy
	client   litestream.ReplicaClient
	txid     ltx.TXID // of the state that is read
	parts    *parts
	files    []*partFile
	where    []where // of each page, from 1 on
	pageSize uint32
}

// where says where the newest version of a page is.
type where struct {
	file   uint32 // of files
	length uint32
	off    int64
}

// Pages finds out where each page of the newest state is.
func (c *Copy) Pages(ctx context.Context) (*Pages, error) {
	ctx, cancel := context.WithTimeout(ctx, planTime)
	defer cancel()
	for try := 1; ; try++ {
		_, client, plan, err := c.plan(ctx, time.Time{})
		if err != nil {
			return nil, err
		}
		p := &Pages{copy: c, client: client, txid: plan[len(plan)-1].MaxTXID}
		if p.parts, err = newParts(client); err == nil {
			err = p.locate(ctx, plan)
		}
		if !errors.Is(err, fs.ErrNotExist) || try == planTries {
			return p, explain(err)
		}
	}
}

// Size is the length of a page, and how many there are.
func (p *Pages) Size() (pageSize, pages uint32) { return p.pageSize, uint32(len(p.where)) }

// Fetched is how many bytes have come from the place, and in how many requests.
func (p *Pages) Fetched() (bytes, requests uint64) {
	return p.parts.bytes.Load(), p.parts.requests.Load()
}

// Read returns a page. One file at a time is read.
func (p *Pages) Read(ctx context.Context, number uint32) ([]byte, error) {
	data, err := p.read(ctx, number)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	// Litestream has merged files. Others may have the same state.
	files, err := list(ctx, p.client, false)
	if err != nil {
		return nil, explain(err)
	}
	plan, err := litestream.CalcRestorePlan(ctx, files, p.txid, time.Time{}, slog.Default())
	if errors.Is(err, litestream.ErrTxNotAvailable) || err == nil && plan[len(plan)-1].MaxTXID != p.txid {
		return nil, errMovedOn
	}
	if err != nil {
		return nil, explain(err)
	}
	again := &Pages{copy: p.copy, client: p.client, txid: p.txid, parts: p.parts}
	if err = again.locate(ctx, plan); err == nil {
		if again.pageSize != p.pageSize || len(again.where) != len(p.where) {
			return nil, errCopyDamaged
		}
		*p = *again
		data, err = p.read(ctx, number)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errMovedOn
	}
	return data, err
}

// read is Read, with the error of a file that is gone.
func (p *Pages) read(ctx context.Context, number uint32) ([]byte, error) {
	if number < 1 || int64(number) > int64(len(p.where)) {
		return nil, fmt.Errorf("%w: it has no page %d", errCopyDamaged, number)
	}
	if number == ltx.LockPgno(p.pageSize) {
		return make([]byte, p.pageSize), nil // SQLite locks its bytes, and has nothing there
	}
	w := p.where[number-1]
	if w.length == 0 {
		return nil, fmt.Errorf("%w: page %d is missing", errCopyDamaged, number)
	}
	frame := make([]byte, w.length)
	if err := p.parts.read(ctx, p.files[w.file], frame, w.off); err != nil {
		return nil, err
	}
	head, data, err := ltx.DecodePageData(frame)
	if err != nil || head.Pgno != number || len(data) != int(p.pageSize) {
		return nil, fmt.Errorf("%w: page %d is not one", errCopyDamaged, number)
	}
	return data, nil
}

// locate reads the indexes of the files of a plan. Of each page, the newest file that has it counts, and the newest file says how many pages there are.
func (p *Pages) locate(ctx context.Context, plan []*ltx.FileInfo) error {
	for _, info := range plan {
		p.files = append(p.files, &partFile{FileInfo: info})
	}
	// Many at once are asked for what most requests are for.
	ends, each := errgroup.WithContext(ctx)
	ends.SetLimit(indexesAtOnce)
	for _, f := range p.files {
		ends.Go(func() error {
			tail := make([]byte, min(indexLeast+max(f.Size, 0)/indexShare, indexPart, max(f.Size, 0)))
			return p.parts.read(each, f, tail, f.Size-int64(len(tail)))
		})
	}
	if err := ends.Wait(); err != nil {
		return err
	}
	for i := range p.files {
		if err := p.index(ctx, uint32(i)); err != nil {
			return err
		}
	}
	newest, head := p.files[len(p.files)-1], make([]byte, ltx.HeaderSize)
	if err := p.parts.read(ctx, newest, head, 0); err != nil {
		return err
	}
	var h ltx.Header
	if err := h.UnmarshalBinary(head); err != nil || h.Validate() != nil || int64(h.Commit) > int64(len(p.where)) || h.Commit == 0 {
		return fmt.Errorf("%w: the beginning of the newest file makes no sense", errCopyDamaged)
	}
	p.pageSize, p.where = h.PageSize, p.where[:h.Commit]
	return nil
}

// index reads the index of a file, which is at its end: of each page, in their order, its number, offset and length; 0; and how long all that
// is (ltx.Encoder.encodePageIndex).
func (p *Pages) index(ctx context.Context, file uint32) error {
	f := p.files[file]
	var length [8]byte
	if err := p.parts.read(ctx, f, length[:], f.Size-ltx.TrailerSize-8); err != nil {
		return err
	}
	end := f.Size - ltx.TrailerSize - 8
	size := binary.BigEndian.Uint64(length[:])
	if end < ltx.HeaderSize || size > uint64(end-ltx.HeaderSize) {
		return p.badIndex(file)
	}
	begin := end - int64(size)
	from := &partReader{ctx: ctx, parts: p.parts, file: f}
	r := bufio.NewReaderSize(io.NewSectionReader(from, begin, int64(size)), int(min(indexPart, size)))
	for last := uint64(0); ; {
		var entry [3]uint64 // number, offset, length
		for i := range entry {
			var err error
			switch entry[i], err = binary.ReadUvarint(r); {
			case from.failure != nil:
				return from.failure
			case err != nil:
				return p.badIndex(file)
			}
			if entry[0] == 0 {
				return nil
			}
		}
		// Of a new page, all before it are new or known, but for the one that SQLite locks: so no number is far beyond those.
		number, off, length := entry[0], entry[1], entry[2]
		switch {
		case number <= last, number > uint64(len(p.where))+2, off < ltx.HeaderSize, off > uint64(begin),
			length <= ltx.PageHeaderSize, length > pageMost, length > uint64(begin)-off:
			return p.badIndex(file)
		case number > mostPages:
			return cli.WithHint(errors.New("the database is too large to be read page by page"), "art restore brings it back")
		}
		for last = number; uint64(len(p.where)) < number; {
			p.where = append(p.where, where{})
		}
		p.where[number-1] = where{file, uint32(length), int64(off)}
	}
}

func (p *Pages) badIndex(file uint32) error {
	f := p.files[file]
	return fmt.Errorf("%w: the index of %s makes no sense", errCopyDamaged, ltx.FormatFilename(f.MinTXID, f.MaxTXID))
}

// partReader reads a file as [io.NewSectionReader] does.
type partReader struct {
	ctx     context.Context
	parts   *parts
	file    *partFile
	failure error // why it could not be read
}

func (r *partReader) ReadAt(data []byte, off int64) (int, error) {
	if r.failure = r.parts.read(r.ctx, r.file, data, off); r.failure != nil {
		return 0, r.failure
	}
	return len(data), nil
}
