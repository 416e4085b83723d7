package fs

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/riverlytech/art/sqlvfs"
)

// noise is where file content comes from: nothing repeats at the distance of a chunk.
var noise = func() []byte {
	b := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}()

// someBytes returns n bytes that differ for each seed.
func someBytes(n, seed int) []byte {
	start := seed * 7919 % (len(noise) / 2)
	return noise[start : start+n]
}

// object is one entry of a generated tree.
type object struct {
	path   string
	mode   uint32 // type and permissions
	size   int    // of a file
	seed   int    // for its content
	target string // of a symbolic link, or of a hard link if mode is 0
	mtime  sqlvfs.Timespec
}

// pick draws one of a list, and logs which and not what: some paths are long.
func pick(t *rapid.T, list []string, label string) string {
	return list[rapid.IntRange(0, len(list)-1).Draw(t, label)]
}

// chunkEdge draws a size or an offset: near a chunk's edge, or small.
func chunkEdge(t *rapid.T, label string) int {
	n := rapid.SampledFrom([]int{0, 0, 100, 5000, 1 << 16, 1 << 16, 2 << 16, 3 << 16}).Draw(t, label)
	return max(0, n+rapid.IntRange(-2, 2).Draw(t, "more"))
}

// somewhen draws a moment that is not today: also before 1970, and after 2262, where nanoseconds since 1970 need more than
// 64 bits. All of them are moments that ext4 knows.
func somewhen(t *rapid.T) sqlvfs.Timespec {
	return sqlvfs.Timespec{
		Sec:  rapid.SampledFrom([]int64{-2_000_000_000, -86400, -1, 0, 1, 1_000_000_000, 1_234_567_890, 1 << 33, 15_000_000_000}).Draw(t, "sec"),
		Nsec: rapid.SampledFrom([]int32{0, 1, 123_456_789, 999_999_999}).Draw(t, "nsec"),
	}
}

// drawTree draws a tree of a few directories, files, links and a fifo. Directories come before
// what is in them.
func drawTree(t *rapid.T) []object {
	dirs := []string{"."}
	var files []string
	var tree []object
	for i := range rapid.IntRange(0, 14).Draw(t, "objects") {
		path := filepath.Join(pick(t, dirs, "dir"), pick(t, names, "name"))
		if slices.ContainsFunc(tree, func(o object) bool { return o.path == path }) {
			continue
		}
		o := object{path: path, seed: i + 1, mtime: somewhen(t)}
		switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
		case kind < 3:
			o.mode = syscall.S_IFDIR | rapid.SampledFrom([]uint32{0o755, 0o700, 0o2775, 0o1755}).Draw(t, "mode")
			dirs = append(dirs, path)
		case kind == 3:
			o.mode, o.target = syscall.S_IFLNK|0o777, rapid.SampledFrom([]string{"a", "../b", "/nowhere", "\xff"}).Draw(t, "target")
		case kind == 4:
			o.mode = syscall.S_IFIFO | 0o640
		case kind == 5 && len(files) > 0:
			o.target = rapid.SampledFrom(files).Draw(t, "twin")
		default:
			o.mode = syscall.S_IFREG | rapid.SampledFrom([]uint32{0o644, 0o755, 0o600}).Draw(t, "mode")
			o.size = chunkEdge(t, "size")
			files = append(files, path)
		}
		tree = append(tree, o)
	}
	return tree
}

// plant makes a tree in an existing directory.
func plant(root string, tree []object) error {
	for _, o := range tree {
		path := filepath.Join(root, o.path)
		var err error
		switch o.mode & syscall.S_IFMT {
		case syscall.S_IFDIR:
			if err = os.Mkdir(path, 0o700); err == nil {
				err = unix.Chmod(path, o.mode&0o7777)
			}
		case syscall.S_IFREG:
			if err = os.WriteFile(path, someBytes(o.size, o.seed), 0o600); err == nil {
				err = unix.Chmod(path, o.mode&0o7777)
			}
		case syscall.S_IFLNK:
			err = os.Symlink(o.target, path)
		case syscall.S_IFIFO:
			err = unix.Mkfifo(path, o.mode&0o7777)
		default:
			err = os.Link(filepath.Join(root, o.target), path)
		}
		if err != nil {
			return err
		}
	}
	for _, o := range slices.Backward(tree) {
		ts := unix.Timespec{Sec: o.mtime.Sec, Nsec: int64(o.mtime.Nsec)}
		path := filepath.Join(root, o.path)
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	return nil
}

// content reads a whole file in requests of the given size.
func content(d tree, path string, request int) ([]byte, error) {
	f, err := d.open(path, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Release()
	return readAll(f, request)
}

func readAll(f treeFile, request int) ([]byte, error) {
	var all []byte
	for {
		buf := make([]byte, request)
		n, err := f.ReadAt(buf, int64(len(all)))
		all = append(all, buf[:max(n, 0)]...)
		if err != nil || n < request {
			return all, err
		}
	}
}

// difference says where content begins to differ.
func difference(got, want []byte) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	return fmt.Sprintf("content differs from byte %d on; %d bytes, want %d", i, len(got), len(want))
}

// portrait describes all of a tree that must not change: names, content, modes, owners, link
// counts, times of content and of change.
func portrait(t rapid.TB, root string) string {
	var b bytes.Buffer
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%q ino %d mode %o nlink %d owner %d:%d size %d mtime %v ctime %v", path[len(root):], st.Ino, st.Mode, st.Nlink, st.Uid, st.Gid, st.Size, st.Mtim, st.Ctim)
		switch st.Mode & syscall.S_IFMT {
		case syscall.S_IFREG:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(data))
		case syscall.S_IFLNK:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " -> %q", target)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
