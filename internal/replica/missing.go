package replica

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

// lookedFor bounds how many files of a workspace are looked for, to know whether it is here.
const lookedFor = 1000

// Missing is what a database that was brought back does not hold, and this host does not have.
type Missing struct {
	Paths []string // of workspaces
	Files int      // of those that a session has changed a part of, how many lack the rest
}

// Lacks finds out what is missing of a database. What it says of the host may be anything: of the paths it is only learnt whether something is there.
func Lacks(database string) (m Missing, err error) {
	s, err := sqlvfs.Open(database, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return m, err
	}
	defer s.Close()
	return m, s.View(func(tx *sqlvfs.Tx) error {
		needed, err := tx.OnHost()
		if err != nil {
			return err
		}
		for _, w := range needed {
			files, err := tx.Supplies(w.Name)
			if err != nil {
				return err
			}
			if w.Path == "" || isHere(w.Path, files) {
				continue
			}
			m.Paths = append(m.Paths, w.Path)
			for _, f := range files {
				if f.Limit > 0 {
					m.Files++
				}
			}
		}
		slices.Sort(m.Paths)
		return nil
	})
}

// isHere tells whether a directory can be the workspace that files have come from: one that has none of them is not.
func isHere(dir string, files map[string]sqlvfs.Supplied) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	looked := 0
	for path := range files {
		if path == "." || !filepath.IsLocal(path) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, path)); err == nil {
			return true
		}
		if looked++; looked == lookedFor {
			break
		}
	}
	return looked == 0
}

// Tell says what is missing, and what to do about it, in two lines; or nothing.
func (m *Missing) Tell(host string) (text, hint string) {
	if len(m.Paths) == 0 {
		return "", ""
	}
	shown := m.Paths[:min(len(m.Paths), 3)]
	text = cli.Printable(strings.Join(shown, ", "))
	if more := len(m.Paths) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if host != "" {
		text += " on " + cli.Printable(host)
	}
	text += " is not here: what no session has changed of it is missing"
	if m.Files > 0 {
		text += fmt.Sprintf(", and the rest of %d files that were changed in part", m.Files)
	}
	return text, "check it out here at that path; or, where it is, have all of it go along by a session with --replicate and --flatten"
}
