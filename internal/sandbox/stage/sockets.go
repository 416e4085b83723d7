package stage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// findSockets returns the paths at which somebody on the host listens: a mount that is read-only does not stop
// connect(2). It is to be called in the host's network namespace, of which /proc/net/unix tells.
func findSockets() ([]string, error) {
	text, err := os.ReadFile("/proc/net/unix")
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("hide sockets: %w", err)
	}
	return socketPaths(text), nil
}

// socketPaths returns the absolute paths in the text of /proc/net/unix (proc_net(5)): what follows seven fields. Those
// of sockets without a file begin with @, and relative ones nobody knows the directory of.
func socketPaths(text []byte) (paths []string) {
	for line := range bytes.Lines(text) {
		for range 7 {
			line = bytes.TrimLeft(line, " ")
			_, line, _ = bytes.Cut(line, []byte(" "))
		}
		if bytes.HasPrefix(line, []byte("/")) {
			paths = append(paths, filepath.Clean(string(bytes.TrimSuffix(line, []byte("\n")))))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// socketsOfGit returns those that git's own programs make in a git directory that is shown as the host has it, and in
// that of a worktree: they are bound by relative paths, of which the kernel does not tell where that is.
func socketsOfGit(v *view.View) (paths []string) {
	if v.HomeSource != "" {
		return nil
	}
	for _, layer := range v.Layers {
		for _, pattern := range []string{"*", "worktrees/*/*"} {
			matches, _ := filepath.Glob(filepath.Join(escaped(layer.Guest), pattern)) // the pattern is well formed
			for _, path := range matches {
				if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSocket {
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}

// escaped is a path as a pattern that matches nothing else (filepath.Match).
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// coverSockets hides sockets that the guest would see: in a directory that holds nothing else, the directory, so that
// what a service makes when it is started again stays hidden too. One that the user binds by its name, or whose
// directory he does, stays, and those in the workspace.
func (c *coverer) coverSockets(sockets []string, v *view.View, tree *view.Tree) error {
	for _, path := range sockets {
		if tree.Emptied(path) {
			continue
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			continue // removed, or not the guest's to pass through
		}
		path = filepath.Join(dir, filepath.Base(path))
		if tree.Emptied(path) || paths.Within(path, c.workspace) {
			continue
		}
		if err := c.coverSocket(path, v); err != nil {
			return fmt.Errorf("hide the socket %s: %w", path, err)
		}
	}
	return nil
}

func (c *coverer) coverSocket(path string, v *view.View) error {
	dir := filepath.Dir(path)
	openDir := func() (int, error) { return c.openKind(dir, unix.S_IFDIR) }
	openSocket := func() (int, error) { return c.openKind(path, unix.S_IFSOCK) }
	for _, open := range []func() (int, error){openDir, openSocket} {
		fd, err := open()
		if absent(err) {
			return nil
		}
		if err != nil {
			return err
		}
		unix.Close(fd)
	}
	stays := slices.ContainsFunc(v.Binds, func(m view.Mount) bool { return paths.Within(m.Guest, dir) })
	if !stays && onlySockets(dir) {
		return c.handles.coverPath(openDir)
	}
	return c.handles.coverPath(openSocket)
}

// openKind opens path; what is not of that kind, or is bound by the user, is absent.
func (c *coverer) openKind(path string, kind uint32) (int, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.EACCES {
		return -1, unix.ENOENT
	}
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && (st.Mode&unix.S_IFMT != kind || c.bound[file{st.Dev, st.Ino}]) {
		err = unix.ENOENT
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// onlySockets says whether a directory holds sockets and what services put beside them, and nothing else.
func onlySockets(dir string) bool {
	const most = 64
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	entries, err := d.ReadDir(most)
	if err != nil && !errors.Is(err, io.EOF) || len(entries) == most {
		return false
	}
	return !slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		name := entry.Name()
		beside := entry.Type().IsRegular() && (strings.HasSuffix(name, "pid") || strings.HasSuffix(name, "lock"))
		return entry.Type() != os.ModeSocket && !beside
	})
}

// guestsWaiting is how many connections wait to be heard.
const guestsWaiting = 16

// soPassRights is SO_PASSRIGHTS (include/uapi/asm-generic/socket.h), from Linux 6.16 on: whether descriptors can be sent there.
const soPassRights = 83

// listen makes a socket that the guest finds at target, and hands it to who serves that.
func (b *builder) listen(target string) error {
	dir, err := b.place(filepath.Dir(target), true)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	path := filepath.Join(proc(dir), filepath.Base(target)) // short enough for an address, wherever the tree is
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err == nil {
		err = unix.Chmod(path, 0o666) // nobody but the guest gets there
	}
	if err == nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, soPassRights, 0) // what comes on an older kernel is closed unseen
		err = unix.Listen(fd, guestsWaiting)
	}
	if err == nil {
		if target == view.SSHSocket {
			return control.Send(b.covers.link, fd, control.Message{Kind: control.AgentSocket})
		}
		err = control.Send(b.covers.control, fd, control.Message{Kind: control.GuestSocket})
	}
	if errors.Is(err, unix.EPIPE) {
		return nil // an art-fuse that has ended is told of otherwise
	}
	return err
}
