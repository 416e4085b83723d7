package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// builder makes the guest's tree of mounts: in place of the host's, which is this namespace's
// own copy, or apart from it.
type builder struct {
	plan    *Plan
	covers  *handles
	path    string            // of the root: / or in the staging directory
	root    int               // the same, once there is one
	sources map[view.Step]int // clones, of what the steps bind
	devices []int             // clones, in the order of devices
	shm     int               // what becomes /dev/shm
}

// devices are what /dev has, besides terminals and shared memory.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// newBuilder takes a copy of everything that is to be shown at another place: it may be
// covered where it is, and has to be as writable as the host has it.
func newBuilder(p *Plan, tree *view.Tree, h *handles) (*builder, error) {
	b := &builder{plan: p, covers: h, path: "/", sources: map[view.Step]int{}}
	for _, steps := range [][]view.Step{tree.Steps, tree.Own} {
		for _, s := range steps {
			if s.Do == view.Tmpfs && s.Write {
				var err error
				if b.sources[s], err = h.scratch.directory(s.Mode); err != nil {
					return nil, fmt.Errorf("%v: %w", s, err)
				}
				if p.SendHome && s.Target == tree.Home {
					if err := h.sendHome(); err != nil {
						return nil, fmt.Errorf("%v: %w", s, err)
					}
				}
			}
			if s.Do != view.Bind && s.Do != view.Way {
				continue
			}
			copied, err := h.clone(p, s.Source)
			if err == nil {
				set := uint64(inert)
				if !s.Write {
					set |= unix.MOUNT_ATTR_RDONLY
				}
				err = restrict(copied, "", set)
			}
			if err != nil {
				return nil, fmt.Errorf("bind %s: %w", s.Source, err)
			}
			b.sources[s] = copied
		}
	}
	var err error
	if b.shm, err = h.scratch.directory(0o1777); err != nil {
		return nil, fmt.Errorf("tmpfs /dev/shm: %w", err)
	}
	for _, name := range devices {
		if name == "zero" && p.Counted {
			name = "full" // the same to be read, but not to be mapped, where it is memory (drivers/char/mem.c, mmap_zero)
		}
		fd, err := h.clone(p, "/dev/"+name)
		if err == nil {
			// That does not stop anybody from writing to a device, but from changing its inode, which is the
			// host's (fs/namei.c, sb_permission; mnt_want_write in fs/open.c, chmod_common).
			err = restrict(fd, "", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_RDONLY)
		}
		if err != nil {
			return nil, fmt.Errorf("bind /dev/%s: %w", name, err)
		}
		b.devices = append(b.devices, fd)
	}
	if tree.Apart {
		b.path = p.staged("root")
		return b, nil
	}
	b.root, err = openPath("/")
	return b, err
}

// clone returns a clone of what has been opened under that name, or else is there now. The first is what
// the user has chosen to show: with root's ids given up, the guest has there what root has on the host.
func (h *handles) clone(p *Plan, source string) (int, error) {
	fd, ok := h.sources[source]
	if !ok {
		return clone(unix.AT_FDCWD, source)
	}
	tree, err := clone(fd, "")
	if err == nil && p.Drop {
		if err = h.mapIDs(tree); err != nil {
			unix.Close(tree)
		}
	}
	return tree, err
}

// take takes steps.
func (b *builder) take(steps []view.Step) error {
	for _, s := range steps {
		if err := b.step(s); err != nil {
			if errors.Is(err, unix.ELOOP) {
				err = cli.WithHint(err, "a symbolic link stands there, and may lead anywhere")
			}
			return fmt.Errorf("%v: %w", s, err)
		}
	}
	return nil
}

func (b *builder) step(s view.Step) error {
	switch s.Do {
	case view.Shadow:
		return b.shadow(s.Target)
	case view.Tmpfs:
		if s.Write {
			return b.bind(b.sources[s], s.Target)
		}
		return b.tmpfs(s.Target, s.Mode)
	case view.Bind:
		if s.Keep != "" {
			return b.around(b.sources[s], s.Target, s.Keep, s.From)
		}
		return b.bind(b.sources[s], s.Target)
	case view.Way:
		return b.way(b.sources[s], s.Target)
	case view.Same:
		return b.same(s.Source, s.Target)
	case view.Symlink:
		dir, err := b.place(filepath.Dir(s.Target), true)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		err = unix.Symlinkat(s.Source, dir, filepath.Base(s.Target))
		if there, _ := hostfs.ReadlinkAt(dir, filepath.Base(s.Target)); errors.Is(err, unix.EEXIST) && there == s.Source {
			return nil // of the session before, in a home that persists
		}
		return err
	case view.Listen:
		return b.listen(s.Target)
	case view.Proc:
		return b.proc(s.Target)
	case view.Devices:
		return b.fillDevices(s.Target)
	default:
		return b.seal(s.Target)
	}
}

// place returns path in the guest's tree, making it if it is not there, for something to be
// mounted on it: a directory, or an empty file. No symbolic link is followed, wherever it is.
func (b *builder) place(path string, directory bool) (int, error) {
	fd, err := hostfs.OpenAt(b.root, path, unix.O_PATH, hostfs.InRoot)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	dir, err := b.place(filepath.Dir(path), true)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	name := filepath.Base(path)
	if directory {
		err = unix.Mkdirat(dir, name, 0o755)
	} else {
		err = unix.Mknodat(dir, name, unix.S_IFREG|0o444, 0)
	}
	if err == nil && b.plan.Drop {
		uid, gid := b.plan.ids()
		err = unix.Fchownat(dir, name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return -1, err
	}
	return hostfs.OpenAt(b.root, path, unix.O_PATH, hostfs.InRoot)
}

// bind mounts a clone at target, and closes it.
func (b *builder) bind(tree int, target string) error {
	defer unix.Close(tree)
	directory, err := isDirectory(tree)
	if err != nil {
		return err
	}
	fd, err := b.place(target, directory)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return attach(tree, fd)
}

// tmpfs mounts one that holds mount points.
func (b *builder) tmpfs(target string, mode uint32) error {
	uid, gid := b.plan.ids()
	return b.mount("tmpfs", target, unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=%04o,size=1m,uid=%d,gid=%d", mode, uid, gid))
}

func (b *builder) mount(kind, target string, flags uintptr, options string) error {
	fd, err := b.place(target, true)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Mount(kind, proc(fd), kind, flags, options)
}

// shadow builds a directory like the host's apart from it, and moves it there. What the host later
// adds to dir itself does not appear; what it changes within its entries does.
func (b *builder) shadow(dir string) error {
	from := filepath.Join(b.path, dir)
	if dir == "/" {
		from = "/"
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	place := b.plan.staged("root")
	if dir != "/" {
		place = b.plan.staged("shadow")
	}
	if err := unix.Mount("tmpfs", place, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=%04o", info.Mode().Perm()|0o200)); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := copyEntry(from, place, entry); err != nil {
			return fmt.Errorf("%s: %w", entry.Name(), err)
		}
	}
	if dir == "/" {
		b.root, err = openPath(place)
		return err
	}
	fd, err := b.place(dir, true)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Mount(place, proc(fd), "", unix.MS_MOVE, "")
}

// copyEntry shows an entry of the directory from in the directory place.
func copyEntry(from, place string, entry os.DirEntry) error {
	source, target := filepath.Join(from, entry.Name()), filepath.Join(place, entry.Name())
	var err error
	switch {
	case entry.Type()&os.ModeSymlink != 0:
		var text string
		if text, err = os.Readlink(source); err == nil {
			err = os.Symlink(text, target)
		}
		return err
	case entry.IsDir():
		err = os.Mkdir(target, 0o755)
	default:
		err = os.WriteFile(target, nil, 0o444)
	}
	if err != nil {
		return err
	}
	if err := bind(source, target); errors.Is(err, unix.ENOENT) {
		return os.Remove(target) // removed meanwhile
	} else {
		return err
	}
}

// fillDevices makes /dev as bubblewrap would, with terminals of the guest's own.
func (b *builder) fillDevices(dir string) error {
	for i, name := range devices {
		if err := b.bind(b.devices[i], filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	fd, err := b.place(dir, true)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for name, text := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"core": "/proc/kcore", "ptmx": "pts/ptmx",
	} {
		if err := unix.Symlinkat(text, fd, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	// ptmxmode: the instance's own /dev/pts/ptmx can be opened by nobody otherwise
	// (Documentation/filesystems/devpts.rst).
	if err := b.mount("devpts", filepath.Join(dir, "pts"), unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"); err != nil {
		return fmt.Errorf("pts: %w", err)
	}
	if err := b.bind(b.shm, filepath.Join(dir, "shm")); err != nil {
		return fmt.Errorf("shm: %w", err)
	}
	return nil
}

func (b *builder) seal(dir string) error {
	fd, err := b.place(dir, true)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if err := unix.Fchmodat(unix.AT_FDCWD, proc(fd), st.Mode&0o7777&^0o222, 0); err != nil {
		return err
	}
	return setattr(fd, "", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// within returns path in the guest's tree, for what is outside it.
func (b *builder) within(path string) string {
	return filepath.Join(b.path, strings.TrimPrefix(path, "/"))
}
