package inspect

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"syscall"

	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// Ls lists a directory, one name a line, or the one thing that is no directory. With opt.Long a
// line holds mode, links, owner, group, size in bytes, time of modification and name, and what a
// symbolic link points to.
func Ls(w io.Writer, s *sqlvfs.Store, path string, opt Options) error {
	in, err := find(s, path, true, opt)
	if err != nil {
		return err
	}
	defer put(s, in)
	it, err := single(s, path, in)
	if err != nil {
		return pathError(path, opt, err)
	}
	items, dir := []item{it}, ""
	if in.Attr.IsDir() {
		dir = path
		if items, err = list(s, in, opt.JSON || opt.Long); err != nil {
			return pathError(path, opt, err)
		}
	}
	out := bufio.NewWriter(w)
	switch {
	case opt.JSON:
		for _, it := range items {
			if err := printJSON(out, it.object(dir)); err != nil {
				return err
			}
		}
	case opt.Long:
		long(out, items, opt)
	default:
		for _, it := range items {
			fmt.Fprintln(out, quote.Name(it.name, opt.Terminal)+slash(it, opt))
		}
	}
	return out.Flush()
}

// long prints the columns as wide as their widest value.
func long(w io.Writer, items []item, opt Options) {
	var width [4]int
	columns := func(a *sqlvfs.Attr) [4]string {
		return [4]string{
			strconv.FormatUint(uint64(a.Nlink), 10), strconv.FormatUint(uint64(a.UID), 10),
			strconv.FormatUint(uint64(a.GID), 10), strconv.FormatInt(a.Size, 10),
		}
	}
	for _, it := range items {
		for i, c := range columns(&it.attr) {
			width[i] = max(width[i], len(c))
		}
	}
	for _, it := range items {
		fmt.Fprint(w, modeText(it.attr.Mode))
		for i, c := range columns(&it.attr) {
			fmt.Fprintf(w, " %*s", width[i], c)
		}
		fmt.Fprintf(w, " %s %s", it.attr.Mtime.Time().Format("2006-01-02 15:04"), quote.Name(it.name, opt.Terminal)+slash(it, opt))
		if it.attr.IsSymlink() && it.target != "" {
			fmt.Fprint(w, " -> ", quote.Name(it.target, opt.Terminal))
		}
		fmt.Fprintln(w)
	}
}

// slash is what comes after the name of an entry.
func slash(it item, opt Options) string {
	if opt.Slash && it.attr.IsDir() {
		return "/"
	}
	return ""
}

// modeText is a mode as ls(1) writes it.
func modeText(mode uint32) string {
	text := []byte("?rwxrwxrwx")
	for kind, c := range map[uint32]byte{
		syscall.S_IFREG: '-', syscall.S_IFDIR: 'd', syscall.S_IFLNK: 'l', syscall.S_IFIFO: 'p',
		syscall.S_IFSOCK: 's', syscall.S_IFBLK: 'b', syscall.S_IFCHR: 'c',
	} {
		if mode&syscall.S_IFMT == kind {
			text[0] = c
		}
	}
	for i := range 9 {
		if mode&(1<<(8-i)) == 0 {
			text[i+1] = '-'
		}
	}
	for _, special := range []struct {
		bit uint32
		at  int
		c   byte
	}{{syscall.S_ISUID, 3, 's'}, {syscall.S_ISGID, 6, 's'}, {syscall.S_ISVTX, 9, 't'}} {
		if mode&special.bit == 0 {
			continue
		}
		if text[special.at] == '-' {
			special.c -= 'a' - 'A'
		}
		text[special.at] = special.c
	}
	return string(text)
}
