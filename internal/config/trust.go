package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
)

// trustDir is the directory in the user's state with a file for each workspace whose
// settings he trusts. The file's name is the SHA-256 of the workspace's path without
// links; in it is a JSON object, a [grant].
const trustDir = "trust"

// noContent is the content of a workspace without files of settings: its place in the guest may need trust too.
const noContent = "none"

// grant is trust of what a workspace's settings say: the content of their files, and
// what came of it. The same text may come to allow more, by a link that leads elsewhere.
type grant struct {
	// Workspace is the path, without links.
	Workspace string `json:"workspace"`
	// Content is the SHA-256 of the files.
	Content string `json:"content"`
	// Allows is what was asked for, as people were told of it.
	Allows []string `json:"allows"`
}

// Trust is the store of what the user trusts.
type Trust struct {
	dir       *os.File // nil if there is none yet
	path      string
	workspace string
}

// OpenTrust opens the store in the user's state for a workspace. Where there is none,
// nothing is trusted.
func OpenTrust(state, workspace string) (*Trust, error) {
	if state == "" {
		return nil, errors.New("find what the user trusts: neither XDG_STATE_HOME nor HOME is set")
	}
	t := &Trust{path: filepath.Join(state, trustDir), workspace: resolved(workspace)}
	parent, err := os.Open(filepath.Dir(state))
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, t.wrong(t.path, err)
	}
	defer parent.Close()
	own, err := t.open(parent, filepath.Base(state), unix.O_DIRECTORY, 0o022)
	if own == nil || err != nil {
		return t, err
	}
	defer own.Close()
	t.dir, err = t.open(own, trustDir, unix.O_DIRECTORY, 0o077)
	return t, err
}

// open opens a part of the store, of which the caller is the owner and nobody else has
// the rights in mask. No link is followed: it could lead to where a guest writes. It
// returns nil if there is nothing.
func (t *Trust) open(dir *os.File, name string, flags int, mask uint32) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	fd, err := hostfs.OpenAt(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NONBLOCK|flags, hostfs.Beneath)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, nil
	case errors.Is(err, unix.ELOOP):
		return nil, t.wrong(path, errors.New("it is a symbolic link, which is not followed"))
	case err != nil:
		return nil, t.wrong(path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, t.wrong(path, err)
	}
	switch {
	case st.Uid != uint32(os.Geteuid()):
		err = t.wrong(path, fmt.Errorf("it belongs to the user %d", st.Uid))
	case st.Mode&mask != 0:
		err = cli.WithHint(fmt.Errorf("read what the user trusts: %s: others have access to it (mode %04o)", path, st.Mode&0o7777),
			"look at what is in it; if it is yours: chmod -R go= "+t.path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (t *Trust) wrong(path string, err error) error {
	return cli.WithHint(fmt.Errorf("read what the user trusts: %s: %w", path, err), "remove it, and run `art trust DIR` again")
}

// Close closes the store.
func (t *Trust) Close() {
	if t.dir != nil {
		t.dir.Close()
	}
}

// name is the file's for the workspace.
func (t *Trust) name() string {
	sum := sha256.Sum256([]byte(t.workspace))
	return hex.EncodeToString(sum[:])
}

// Has says whether the user trusts settings with this content to allow what they ask for.
func (t *Trust) Has(content string, asks []Ask) (bool, error) {
	if t.dir == nil {
		return false, nil
	}
	f, err := t.open(t.dir, t.name(), 0, 0o077)
	if f == nil || err != nil {
		return false, err
	}
	defer f.Close()
	text, err := readBounded(f)
	if err != nil {
		return false, t.wrong(f.Name(), err)
	}
	g, err := parseGrant(f.Name(), text)
	if err != nil {
		return false, t.wrong(f.Name(), err)
	}
	if g.Workspace != spelled(t.workspace) {
		return false, t.wrong(f.Name(), fmt.Errorf("it is of another workspace, %s", strconv.Quote(g.Workspace)))
	}
	return g.Content == cmp.Or(content, noContent) && !slices.ContainsFunc(asks, func(a Ask) bool { return !slices.Contains(g.Allows, spelled(a.What)) }), nil
}

// spelled is a text that may be no UTF-8, as paths are, for JSON.
func spelled(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strconv.Quote(s)
}

// parseGrant reads a grant. Nothing may be missing, nor anything be there that is unknown.
func parseGrant(file string, text []byte) (*grant, error) {
	root, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	var g grant
	into := func(s *string) func(*node) error {
		return func(n *node) (err error) {
			*s, err = n.text()
			return err
		}
	}
	err = root.object(map[string]func(*node) error{
		"workspace": into(&g.Workspace),
		"content":   into(&g.Content),
		"allows": func(n *node) error {
			return n.list(func(item *node) error {
				what, err := item.text()
				g.Allows = append(g.Allows, what)
				return err
			})
		},
	})
	if err == nil && (g.Workspace == "" || g.Content == "" || g.Allows == nil) {
		err = root.errorf("a key is missing")
	}
	return &g, err
}

// Add makes the user trust settings with this content to allow what they ask for.
func (t *Trust) Add(content string, asks []Ask) error {
	g := grant{Workspace: spelled(t.workspace), Content: cmp.Or(content, noContent)}
	for _, a := range asks {
		g.Allows = append(g.Allows, spelled(a.What))
	}
	text, err := json.MarshalIndent(&g, "", "  ")
	if err == nil {
		err = t.make()
	}
	if err == nil {
		err = t.replace(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("remember what the user trusts: %s: %w", t.path, err)
	}
	return nil
}

// make makes the store if there is none.
func (t *Trust) make() error {
	if t.dir != nil {
		return nil
	}
	if err := os.MkdirAll(t.path, 0o700); err != nil {
		return err
	}
	again, err := OpenTrust(filepath.Dir(t.path), t.workspace)
	if err == nil {
		t.dir = again.dir
	}
	return err
}

// replace writes the workspace's file, which is whole at any moment.
func (t *Trust) replace(text []byte) error {
	dir := int(t.dir.Fd())
	temporary := fmt.Sprintf(".%s-%d", t.name(), os.Getpid())
	fd, err := unix.Openat(dir, temporary, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), filepath.Join(t.path, temporary))
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = unix.Renameat(dir, temporary, dir, t.name())
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temporary, 0) // the error is told
		return err
	}
	return t.dir.Sync()
}

// Remove takes trust back, and says whether there was any. It looks at no content, so
// that a damaged file goes too.
func (t *Trust) Remove() (bool, error) {
	if t.dir == nil {
		return false, nil
	}
	switch err := unix.Unlinkat(int(t.dir.Fd()), t.name(), 0); {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("forget what the user trusts: %s: %w", filepath.Join(t.path, t.name()), err)
	}
	return true, t.dir.Sync()
}
