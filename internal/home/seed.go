package home

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/locate"
	"github.com/riverlytech/art/internal/private"
	"github.com/riverlytech/art/internal/quote"
)

// maxSeed bounds what is copied at a time, in bytes and in files.
const (
	maxSeed      = 64 << 20
	maxSeedFiles = 10_000
)

// Seed copies files of the user's own home into a home, which it makes if there is none. What the home has already stays
// as it is.
func Seed(name string, paths []string, o *Options) error {
	fail := func(err error) error { return withRoom(fmt.Errorf("seed the home %s: %w", name, err)) }
	chosen := len(paths) > 0
	if !chosen {
		paths = o.Seeds
	}
	if len(paths) == 0 {
		return cli.WithHint(fail(errors.New("no files are named")), "name some below your home: art home seed "+name+" .gitconfig")
	}
	own, err := openHost()
	if err != nil {
		return fail(err)
	}
	defer own.Close()
	h, err := Use(name)
	if err != nil {
		return err
	}
	s := &seeder{home: h, own: own, options: o, left: maxSeed}
	err = s.all(paths, chosen)
	if len(s.done) > 0 { // also of a seed that fails then
		if e := h.remember(s.done); err == nil {
			err = e
		}
	}
	if err != nil {
		h.Abandon()
		return fail(err)
	}
	h.Close()
	if s.copied == 0 && !o.Quiet {
		fmt.Fprintln(o.Stderr, "art: nothing was copied")
	}
	return nil
}

// all copies paths; one that was chosen has to be there.
func (s *seeder) all(paths []string, chosen bool) error {
	for _, path := range paths {
		rel, err := within(s.own, path)
		if err != nil {
			return err
		}
		from, names, err := openOwnFile(s.own, rel)
		if errors.Is(err, unix.ENOENT) && !chosen {
			continue
		}
		if err == nil {
			err = s.named(from, rel, names, chosen)
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", filepath.Join(s.own.Name(), rel), err)
		}
	}
	return nil
}

// openHost opens the user's own home. Its name has no symbolic link.
func openHost() (*os.File, error) {
	home := os.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return nil, errors.New("HOME is not set")
	}
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		return nil, err
	}
	return os.Open(real)
}

// within returns a path as one below the user's own home.
func within(own *os.File, path string) (string, error) {
	rel := filepath.Clean(path)
	if filepath.IsAbs(rel) {
		for _, home := range []string{filepath.Clean(os.Getenv("HOME")), own.Name()} {
			if below, ok := strings.CutPrefix(rel, home+"/"); ok {
				rel = below
				break
			}
		}
	}
	if rel == "." || path == "" || !filepath.IsLocal(rel) {
		return "", cli.WithHint(fmt.Errorf("%q is not a path below %s", path, own.Name()), "name files below your home, such as .gitconfig")
	}
	return rel, nil
}

// openOwnFile opens what is at a path below the user's own home, and returns the names that it has there: the one that is
// given, those of links on the way, and at the end where it is. A link may lead to another place below the home, and no
// further.
func openOwnFile(own *os.File, rel string) (f *os.File, names []string, err error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK
	names = []string{rel}
	f, err = hostfs.Open(own, rel, flags)
	if !errors.Is(err, unix.ELOOP) {
		return f, names, err
	}
	links, real, err := locate.Hops(filepath.Join(own.Name(), rel))
	if err != nil {
		return nil, names, hostfs.Unwrap(err)
	}
	for _, link := range links {
		names = append(names, strings.TrimPrefix(link.Path, own.Name()+"/"))
	}
	below, ok := strings.CutPrefix(real, own.Name()+"/")
	if !ok {
		return nil, names, fmt.Errorf("a symbolic link leads out of your home, to %s", real)
	}
	f, err = hostfs.Open(own, below, flags)
	return f, append(names, below), err
}

// seeder copies.
type seeder struct {
	home    *Home
	own     *os.File
	options *Options
	left    int64
	files   int
	copied  int
	done    []string
}

// named copies what is open as from, which it closes, to the path in the home, if it is private by none of its names.
func (s *seeder) named(from *os.File, rel string, names []string, chosen bool) error {
	if i := slices.IndexFunc(names, func(name string) bool { return private.Login(name) != "" }); i >= 0 && !s.options.Force {
		from.Close()
		if !chosen {
			s.note("LEFT %s (private)", rel)
			return nil
		}
		return cli.WithHint(fmt.Errorf("%s is private: it may let somebody in, and a copy of that may lock out the other side", private.Login(names[i])),
			"log in within the home instead, or use --force")
	}
	return s.copy(from, rel, names[len(names)-1], 0)
}

// copy copies what is open as from, which it closes, and is at a path of the user's own home, to another path in the home.
func (s *seeder) copy(from *os.File, rel, at string, depth int) error {
	defer from.Close()
	if s.files++; s.files > maxSeedFiles || depth > mostDepth {
		return errors.New("it is too large")
	}
	st, err := hostfs.Stat(from)
	if err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return s.file(from, rel, &st)
	case unix.S_IFDIR:
		return s.directory(from, rel, at, depth)
	}
	return fmt.Errorf("it is a %s", hostfs.KindName(st.Mode))
}

func (s *seeder) directory(from *os.File, rel, at string, depth int) error {
	names, err := hostfs.Names(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(rel, name)
		sub, err := hostfs.Open(from, name, unix.O_RDONLY|unix.O_NONBLOCK)
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) { // a link, a socket
			s.note("LEFT %s (no file)", path)
			continue
		}
		if err == nil && !isFileOrDirectory(sub) {
			sub.Close()
			s.note("LEFT %s (no file)", path)
			continue
		}
		if err == nil {
			below := filepath.Join(at, name)
			if private.Login(path)+private.Login(below) != "" && !s.options.Force {
				sub.Close()
				s.note("LEFT %s (private)", path)
				continue
			}
			err = s.copy(sub, path, below, depth+1)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func isFileOrDirectory(f *os.File) bool {
	st, err := hostfs.Stat(f)
	kind := st.Mode & unix.S_IFMT
	return err == nil && (kind == unix.S_IFREG || kind == unix.S_IFDIR)
}

func (s *seeder) note(format, path string, args ...any) {
	if !s.options.Quiet {
		fmt.Fprintf(s.options.Stdout, format+"\n", append([]any{quote.Name(path, s.options.Terminal)}, args...)...)
	}
}

// file copies a file, which appears whole.
func (s *seeder) file(from *os.File, rel string, st *unix.Stat_t) error {
	if s.left -= st.Size; s.left < 0 {
		return fmt.Errorf("it is too large: more than %s", cli.Bytes(maxSeed))
	}
	parent, err := s.home.makeDirectories(filepath.Dir(rel))
	if err != nil {
		return err
	}
	defer parent.Close()
	name := filepath.Base(rel)
	if _, err := hostfs.StatAt(parent, name); err == nil && !s.options.Force {
		s.note("KEPT %s (it is there)", rel)
		s.done = append(s.done, rel)
		return nil
	}
	temporary := fmt.Sprintf(".art-seed-%d", os.Getpid())
	to, err := hostfs.Create(parent, temporary, 0o600|st.Mode&0o700)
	if err != nil {
		return err
	}
	defer to.Close()
	n, err := io.Copy(to, io.LimitReader(from, st.Size))
	if err == nil {
		// A directory in its place is not replaced (rename(2), EISDIR).
		err = unix.Renameat(int(parent.Fd()), temporary, int(parent.Fd()), name)
	}
	if err != nil {
		_ = unix.Unlinkat(int(parent.Fd()), temporary, 0)
		return hostfs.Unwrap(err)
	}
	s.copied++
	s.done = append(s.done, rel)
	s.note("FILE %s (%d bytes)", rel, n)
	return nil
}

// makeDirectories makes a directory of the home, and those above it, and opens it.
func (h *Home) makeDirectories(path string) (*os.File, error) {
	at, err := hostfs.Open(h.dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil || path == "." {
		return at, err
	}
	for _, name := range strings.Split(path, "/") {
		err := unix.Mkdirat(int(at.Fd()), name, 0o700)
		var next *os.File
		if err == nil || errors.Is(err, unix.EEXIST) {
			next, err = hostfs.Open(at, name, unix.O_RDONLY|unix.O_DIRECTORY)
		}
		at.Close()
		if err != nil {
			return nil, fmt.Errorf("make %s in the home: %w", path, err)
		}
		at = next
	}
	return at, nil
}

// remember adds paths to those that were copied into the home.
func (h *Home) remember(paths []string) error {
	known, err := h.seeded()
	if err != nil {
		return err
	}
	known = append(known, paths...)
	slices.Sort(known)
	text := strings.Join(slices.Compact(known), "\x00")
	file := filepath.Join(filepath.Dir(h.Path), "..seeded."+h.Name)
	err = os.WriteFile(file+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		_ = os.Remove(file + ".new")
	}
	return err
}

// seeded returns the paths that were copied into the home.
func (h *Home) seeded() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(h.Path), "..seeded."+h.Name))
	if errors.Is(err, os.ErrNotExist) || err == nil && len(text) == 0 {
		return nil, nil
	}
	return strings.Split(string(text), "\x00"), err
}
