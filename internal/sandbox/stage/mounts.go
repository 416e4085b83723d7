package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/hostfs"
)

// handles are the host's paths as O_PATH descriptors. A mount over a path does
// not change what they refer to.
type handles struct {
	sources map[string]int
	hide    []hidden
	dotArt  int // -1 without one
	dbDir   int // -1 without a database
	fuse    int // where FUSE is mounted already, else -1

	emptyFile, emptyDirectory int // what covers others; read-only mounts
	aside                     int // a directory for a mount that the guest does not see
	scratch                   scratch

	control *os.File // the socket to art-fuse
	link    *os.File // the socket to art
	served  bool     // whether art-fuse has said that it is ready
}

// hidden is a path to cover, and what was there when the session started.
type hidden struct {
	path string
	fd   int
}

func open(p *Plan) (*handles, error) {
	h := &handles{sources: map[string]int{}, dbDir: -1, fuse: -1}
	root, err := openPath(p.Workspace)
	if err != nil {
		return nil, fmt.Errorf("open the workspace %s: %w", p.Workspace, err)
	}
	defer unix.Close(root)
	for _, path := range p.Sources {
		fd, err := config.OpenHost(root, path)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		h.sources[path] = fd
	}
	for _, path := range p.Hide {
		fd, err := openPath(path)
		if absent(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("hide %s: %w", path, err)
		}
		h.hide = append(h.hide, hidden{path, fd})
	}
	if h.dotArt, err = openPath(p.DotArt); err != nil && !absent(err) {
		return nil, fmt.Errorf("cover %s: %w", p.DotArt, err)
	}
	if p.Database != "" {
		if h.dbDir, err = openPath(filepath.Dir(p.Database)); err != nil {
			return nil, fmt.Errorf("hide the database %s: %w", p.Database, err)
		}
	}
	if p.FUSE != NoFUSE && p.FUSE != MountFUSE {
		if h.fuse, err = openPath(p.FUSE); err != nil {
			return nil, fmt.Errorf("take over the mount %s: %w", p.FUSE, err)
		}
	}
	return h, nil
}

func openPath(path string) (int, error) {
	return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
}

func absent(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// makeStaging mounts a tmpfs that holds the mount points and what covers others:
// an empty file and an empty directory, both read-only mounts, of which every
// further bind is one too (fs/namespace.c, clone_mnt copies the flags).
func (h *handles) makeStaging(p *Plan) error {
	fail := func(err error) error { return fmt.Errorf("prepare %s: %w", p.Staging, err) }
	if err := unix.Mount("art", p.Staging, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=16m"); err != nil {
		return fail(err)
	}
	bundle, err := p.bundle()
	if err != nil {
		return err
	}
	files := []struct{ path, text string }{
		{p.PasswdPath(), p.Passwd}, {p.GroupPath(), p.Group}, {p.GitConfigPath(), p.GitConfig},
		{p.ResolverPath(), p.Resolver}, {p.HostsPath(), p.Hosts}, {p.AuthorityPath(), p.Authority}, {p.BundlePath(), bundle}, {p.KnownHostsPath(), p.KnownHosts},
		{p.staged("file"), ""},
	}
	for _, f := range files {
		if err := os.WriteFile(f.path, []byte(f.text), 0o444); err != nil {
			return fail(err)
		}
	}
	dirs := []string{p.staged("directory"), p.staged("root"), p.staged("shadow"), p.staged("aside"), p.staged("scratch"), p.Home()}
	for i := range p.Layers {
		dirs = append(dirs, p.Layer(i))
	}
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fail(err)
		}
	}
	if h.scratch, err = newScratch(p); err != nil {
		return fail(err)
	}
	if h.aside, err = openPath(p.staged("aside")); err != nil {
		return fail(err)
	}
	for path, handle := range map[string]*int{p.staged("file"): &h.emptyFile, p.staged("directory"): &h.emptyDirectory} {
		if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
			return fail(err)
		}
		const readOnly = unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
		if err := unix.Mount("", path, "", readOnly, ""); err != nil {
			return fail(err)
		}
		if *handle, err = openPath(path); err != nil {
			return fail(err)
		}
	}
	return nil
}

// bundle returns all certificates that the guest believes, or "" where these are those of the host.
func (p *Plan) bundle() (string, error) {
	if p.Authority == "" || p.Roots == "" {
		return p.Authority, nil
	}
	roots, err := os.ReadFile(p.Roots)
	if err != nil {
		return "", fmt.Errorf("read the certificates of the host: %w", err)
	}
	return string(roots) + "\n" + p.Authority, nil
}

// takeOver binds a mount that was made on the host for this session to where the
// plan wants it. The host then unmounts its own and removes the directory, which
// takes away also the copy that came with the namespace (fs/namespace.c,
// __detach_mounts); the one made here stays. No request goes to art-fuse, which
// may not be ready yet.
func (h *handles) takeOver(p *Plan) error {
	if err := bind(proc(h.fuse), p.Home()); err != nil {
		return fmt.Errorf("take over the mount %s: %w", p.FUSE, err)
	}
	// Until the host has done that, nobody shall see it. It cannot be unmounted
	// here (mount_namespaces(7), locked mounts), but covered.
	if err := bind(proc(h.emptyDirectory), filepath.Dir(p.FUSE)); err != nil {
		return fmt.Errorf("cover the mount %s: %w", p.FUSE, err)
	}
	return nil
}

// cover hides what the plan names. It fails rather than leave anything visible.
func (h *handles) cover(p *Plan) error {
	for _, hide := range h.hide {
		if err := h.coverOpen(hide.fd, func() (int, error) { return openPath(hide.path) }); err != nil {
			return fmt.Errorf("hide %s: %w", hide.path, err)
		}
	}
	if err := h.coverSettings(p); err != nil {
		return err
	}
	if h.dbDir < 0 {
		return nil
	}
	// art-fuse has them open, so that SQLite does not make them anew: "the WAL
	// file exists for as long as any database connection has the database open"
	// (https://www.sqlite.org/wal.html).
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		path := p.Database + suffix
		err := h.coverPath(func() (int, error) {
			return unix.Openat(h.dbDir, filepath.Base(path), unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		})
		if err != nil {
			return fmt.Errorf("hide the database's %s: %w", path, err)
		}
	}
	return nil
}

// coverHome hides what the plan names in the guest's home, which is served now. A link is not
// followed: a guest may have made it.
func (h *handles) coverHome(p *Plan, home string) error {
	for _, path := range p.HideHome {
		if err := h.coverPath(func() (int, error) { return openBeneath(home, path) }); err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return nil
}

// coverPath covers what open finds, if there is anything.
func (h *handles) coverPath(open func() (int, error)) error {
	fd, err := open()
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.coverOpen(fd, open)
}

// coverOpen covers what fd refers to, and closes it. Somebody on the host may have removed that since it was opened, as
// SQLite does with what it keeps beside a database, or put another file in its place: nothing can be mounted there any
// more (fs/namespace.c, cant_mount), and again says what there is now.
func (h *handles) coverOpen(fd int, again func() (int, error)) error {
	const most = 100
	for range most {
		err := h.coverFD(fd)
		unix.Close(fd)
		if !errors.Is(err, unix.ENOENT) {
			return err
		}
		if fd, err = again(); absent(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	unix.Close(fd)
	return errors.New("it is replaced all the time")
}

func (h *handles) coverFD(fd int) error {
	directory, err := isDirectory(fd)
	if err != nil {
		return err
	}
	if directory {
		return bind(proc(h.emptyDirectory), proc(fd))
	}
	return bind(proc(h.emptyFile), proc(fd))
}

// openBeneath opens path, relative to the directory dir whose contents a guest
// has written: it follows no symbolic link.
func openBeneath(dir, path string) (int, error) {
	root, err := openPath(dir)
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	return hostfs.OpenAt(root, path, unix.O_PATH, hostfs.Beneath)
}

// isDirectory asks no file system: the kernel knows what kind of file it has open, and art-fuse
// may not answer yet (statx(2), AT_STATX_DONT_SYNC).
func isDirectory(fd int) (bool, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st); err != nil {
		return false, err
	}
	return st.Mode&unix.S_IFMT == unix.S_IFDIR, nil
}

// bind mounts source, with what is mounted below it, at target.
func bind(source, target string) error {
	return unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, "")
}

// proc is a path for exactly what fd refers to (proc(5), /proc/pid/fd).
func proc(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
