package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/cli"
)

// fileSystem is what a directory with objects needs of the one that it is in: this host's, or a server's.
type fileSystem interface {
	// list returns the entries of a directory.
	list(ctx context.Context, dir string) ([]fs.DirEntry, error)
	// read reads an object, as readObject does.
	read(ctx context.Context, path string) ([]byte, error)
	// found makes the directory of a place, if that is for a session to do.
	found(ctx context.Context, dir string) error
	// write writes a file of any name to a directory, durably, and returns its path.
	write(ctx context.Context, dir string, data []byte) (path string, err error)
	// link gives a file one more name, durably. The error is fs.ErrExist if that is another's.
	link(ctx context.Context, path, name string) error
	remove(ctx context.Context, path string) error
}

// directory is a place that is a directory of this host, of a file server, or of one that speaks SFTP. None of them can compare and replace a file
// in one step, but they can give a file a name that there is not (link(2), which also NFS does on the server). So an object is the file with the highest
// number, which is its tag, and swapping it is to link the next one. The file with the highest number is never removed.
type directory struct {
	fileSystem
	path string
}

// newest returns the highest number of an object; 0: there is none.
func (d directory) newest(ctx context.Context, name string) (highest uint64, all []uint64, err error) {
	entries, err := d.list(ctx, d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil, nil
	}
	ext := filepath.Ext(name)
	for _, e := range entries {
		digits := strings.TrimSuffix(strings.TrimPrefix(e.Name(), strings.TrimSuffix(name, ext)+"-"), ext)
		if n, err := strconv.ParseUint(digits, 10, 64); err == nil && n > 0 && numbered(name, n) == e.Name() {
			highest, all = max(highest, n), append(all, n)
		}
	}
	if highest >= math.MaxInt64 { // nothing could come after it
		return 0, nil, damaged(numbered(name, highest))
	}
	return highest, all, err
}

// numbered is the name of the file that an object is.
func numbered(name string, n uint64) string {
	ext := filepath.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
}

func (d directory) file(name string, n uint64) string {
	return filepath.Join(d.path, numbered(name, n))
}

func (d directory) get(ctx context.Context, name string) ([]byte, string, error) {
	for {
		n, _, err := d.newest(ctx, name)
		if err != nil {
			return nil, "", err
		}
		if n == 0 {
			return nil, "", fs.ErrNotExist
		}
		data, err := d.read(ctx, d.file(name, n))
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			continue // there is a later one by now
		}
		return data, strconv.FormatUint(n, 10), err
	}
}

func (d directory) swap(ctx context.Context, name string, data []byte, tag string) (string, error) {
	n := uint64(0)
	if tag == "" {
		if err := d.found(ctx, d.path); err != nil {
			return "", err
		}
	} else {
		var err error
		if n, err = strconv.ParseUint(tag, 10, 64); err != nil {
			return "", fs.ErrExist
		}
	}
	made, err := d.write(ctx, d.path, data)
	if err != nil {
		return "", err
	}
	err = d.link(ctx, made, d.file(name, n+1))
	_ = d.remove(ctx, made) // or it stays, and is not looked at
	if err != nil {
		return "", err
	}
	highest, all, err := d.newest(ctx, name)
	if err != nil {
		return "", err
	}
	if highest != n+1 { // others were faster, and have removed that number before; or after, which nobody can tell
		return "", fs.ErrExist
	}
	if n > 0 && !slices.Contains(all, n) { // only who links a later one removes it: somebody else has
		_ = d.remove(ctx, d.file(name, n+1))
		return "", fs.ErrNotExist
	}
	for _, old := range all {
		if old <= n {
			_ = d.remove(ctx, d.file(name, old)) // or the next one does
		}
	}
	return strconv.FormatUint(n+1, 10), nil
}

func (d directory) entries(ctx context.Context) (dirs, files []string, err error) {
	all, err := d.list(ctx, d.path)
	for _, e := range all {
		if e.IsDir() {
			dirs = append(dirs, e.Name())
		} else {
			files = append(files, e.Name())
		}
	}
	return dirs, files, cli.Reason(err)
}

func (d directory) below(dir string) objects {
	return directory{d.fileSystem, filepath.Join(d.path, dir)}
}

// local is this host's file system.
type local struct{}

func (local) list(_ context.Context, dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

func (local) read(_ context.Context, path string) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readObject(filepath.Base(path), f)
}

func (local) found(context.Context, string) error { return nil } // see place.Make

func (local) write(_ context.Context, dir string, data []byte) (string, error) {
	f, err := os.CreateTemp(dir, unlinked+"*")
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return f.Name(), err
}

// unlinked begins the names of files that are no object yet.
const unlinked = ".art.json-"

func (local) link(_ context.Context, path, name string) error {
	if err := os.Link(path, name); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(name))
}

func (local) remove(_ context.Context, path string) error { return os.Remove(path) }
