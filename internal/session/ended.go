package session

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/paths"
)

// kept is what stays known of a session in the background, beside its log and as long as that.
type kept struct {
	Workspace string              `json:"workspace"`
	Started   time.Time           `json:"started"`
	End       *control.SessionEnd `json:"end"` // nil while it runs, and for one that was killed
}

const (
	keptSuffix = ".json"
	// maxKept bounds what is read of one.
	maxKept = 1 << 20
)

// keptPath is where it is that belongs to a log.
func keptPath(log string) string { return strings.TrimSuffix(log, logSuffix) + keptSuffix }

// write writes it as a whole: who reads meanwhile finds the one of before.
func (k *kept) write(path string) error {
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	temporary := path + ".new" // a session has a single process that writes
	if err = os.WriteFile(temporary, data, 0o600); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary)
	}
	return err
}

func readKept(path string) (k kept, err error) {
	f, err := os.Open(path)
	if err != nil {
		return k, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxKept))
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	return k, err
}

// errNotKept says that a session has left no word of its end.
var errNotKept = errors.New("it was killed")

// Ended tells how a session in the background ended. The error is os.ErrNotExist where nothing is known of the id.
func Ended(getenv func(string) string, id string) (*control.SessionEnd, error) {
	if !IsID(id) || logDirectory(getenv) == "" {
		return nil, os.ErrNotExist
	}
	k, err := readKept(keptPath(LogPath(getenv, id)))
	if err == nil && k.End == nil {
		err = errNotKept
	}
	return k.End, err
}

// Last returns the id of the last session in the background of the workspace that a directory lies in, the deepest one, or "".
// The directory is a resolved path.
func Last(getenv func(string) string, here string) (id string) {
	dir := logDirectory(getenv)
	if dir == "" {
		return ""
	}
	var last kept
	files, _ := filepath.Glob(filepath.Join(dir, "*"+keptSuffix))
	for _, path := range files {
		k, err := readKept(path)
		k.Workspace = paths.Resolve(filepath.Clean(k.Workspace))
		deeper := len(k.Workspace) - len(last.Workspace)
		if err != nil || !paths.Within(here, k.Workspace) || deeper < 0 || deeper == 0 && !k.Started.After(last.Started) {
			continue
		}
		last, id = k, strings.TrimSuffix(filepath.Base(path), keptSuffix)
	}
	return id
}
