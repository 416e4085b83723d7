package inspect

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// Cat writes a file's content as it is. Content that is only on the host comes from opt.Base, and
// only if the file there is the version that the database means; without a base it is an error. On a
// terminal, what would tell it what to do is made visible, as cat -v does.
func Cat(w io.Writer, s *sqlvfs.Store, path string, opt Options) error {
	in, err := find(s, path, true, opt)
	if err != nil {
		return err
	}
	defer put(s, in)
	switch {
	case in.Attr.IsDir():
		return pathError(path, opt, syscall.EISDIR)
	case !in.Attr.IsRegular():
		return pathError(path, opt, errors.New("not a regular file"))
	}
	base, err := openBase(in.Origin, opt)
	if err != nil {
		return pathError(path, opt, err)
	}
	if base != nil {
		defer base.Close()
	}
	end := func() error { return nil }
	if opt.Terminal {
		text := quote.NewWriter(w)
		w, end = text, text.Flush
	}
	buf := make([]byte, 1<<20)
	for off := int64(0); ; {
		var n int
		if base != nil {
			n, err = s.ReadAt(in, buf, off, base)
		} else {
			n, err = s.ReadAt(in, buf, off, nil)
		}
		if _, werr := w.Write(buf[:n]); werr != nil {
			return fmt.Errorf("write: %w", werr)
		}
		switch {
		case errors.Is(err, sqlvfs.ErrNoBase):
			return cli.WithHint(pathError(path, opt, fmt.Errorf("part of it is on the host, in %s of workspace %s", in.Origin.Path, in.Origin.Base)),
				"name the workspace's directory with --base")
		case errors.Is(err, io.EOF):
			return end()
		case err != nil:
			return pathError(path, opt, err)
		}
		off += int64(n)
	}
}

// openBase opens the host file that a file's content comes from, or returns nil if there is no
// such content or no base was given.
func openBase(o *sqlvfs.Origin, opt Options) (*os.File, error) {
	if o == nil || o.Limit == 0 || opt.Base == "" {
		return nil, nil
	}
	if o.Base != opt.Name {
		return nil, fmt.Errorf("part of it is in another workspace: %s", o.Base)
	}
	// A path in a database must not lead out of the base, by whatever links there are.
	root, err := os.OpenRoot(opt.Base)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// O_NONBLOCK: to open a fifo that took the file's place must not wait.
	f, err := root.OpenFile(o.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := hostfs.Stat(f)
	if err == nil && hostfs.Fingerprint(&st) != o.Fingerprint {
		err = sqlvfs.ErrBaseChanged
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
