package home

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
)

// Programs keep what they know of a project by its path in the guest, in the home too: two workspaces of one base name may
// not have the same. So each workspace has a name in each home, which it keeps. The guest cannot write where they are kept.

// maxNames bounds the file of the names, in bytes.
const maxNames = 1 << 20

// Named is a workspace with the name of its directory in a home.
type Named struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// NameOf returns the name that the workspace at a path, absolute and without symbolic links, has in the home: base if that
// is no other's.
func (h *Home) NameOf(workspace, base string) (string, error) {
	name, err := h.nameOf(workspace, base)
	if err != nil {
		return "", withRoom(fmt.Errorf("name the workspace %s in the home %s: %w", workspace, h.Name, err))
	}
	return name, nil
}

func (h *Home) nameOf(workspace, base string) (string, error) {
	f, err := os.OpenFile(h.namesPath(), os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil { // others have it for a moment
		return "", err
	}
	list, whole, err := readNames(f)
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for _, n := range list {
		if n.Path == workspace {
			return n.Name, nil
		}
		taken[n.Name] = true
	}
	name := base
	for i := 2; taken[name]; i++ {
		suffix := "-" + strconv.Itoa(i)
		name = base[:min(len(base), unix.NAME_MAX-len(suffix))] + suffix
	}
	record := name + "\x00" + workspace + "\x00"
	if whole+len(record) > maxNames {
		return "", cli.WithHint(errors.New("too many workspaces have used it"), "use another home, or remove this one with art home rm")
	}
	if err := f.Truncate(int64(whole)); err != nil { // a record that was broken off
		return "", hostfs.Unwrap(err)
	}
	if _, err := f.WriteString(record); err != nil {
		return "", hostfs.Unwrap(err)
	}
	return name, nil
}

func (h *Home) namesPath() string { return filepath.Join(filepath.Dir(h.Path), "..names."+h.Name) }

// names returns the workspaces that have had the home.
func (h *Home) names() ([]Named, error) {
	f, err := os.OpenFile(h.namesPath(), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return []Named{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, _, err := readNames(f)
	return list, err
}

// readNames reads the records of names, and says how many bytes the whole ones take.
func readNames(f io.ReaderAt) (list []Named, whole int, err error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxNames))
	if err != nil {
		return nil, 0, err
	}
	list = []Named{}
	for rest := text; ; {
		name, more, ok := bytes.Cut(rest, []byte{0})
		path, after, both := bytes.Cut(more, []byte{0})
		if !ok || !both {
			return list, whole, nil
		}
		list = append(list, Named{string(name), string(path)})
		whole += len(rest) - len(after)
		rest = after
	}
}
