package history

import (
	"errors"
	"fmt"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// Point is a moment of a database, or of a fork of it.
type Point struct {
	Fork string // its name; "": the database itself
	At   string // a checkpoint by number or label; "": the present
}

// database is that of a point.
func (p *Point) database(db string) (string, error) {
	if p.Fork == "" {
		return db, nil
	}
	return workspace.FindFork(db, p.Fork)
}

// ParseRange reads what names two moments: "A..B", "A..", "@A" or "@A..@B", where A and B are numbers or labels of checkpoints, or names of
// forks, also "FORK@A", and the present where there is no B. "..FORK" begins with the present. isFork tells what is the name of a fork.
// Whatever else a word is, it is none.
func ParseRange(word string, isFork func(string) bool) (from, to Point, ok bool) {
	first, last, several := strings.Cut(word, "..")
	if strings.Contains(word, "/") && !strings.HasPrefix(word, "@") {
		return from, to, false
	}
	from, ofFork := parsePoint(first, isFork)
	to, toFork := parsePoint(last, isFork)
	switch {
	case strings.HasPrefix(word, "@"):
		return from, to, from.At != ""
	case !several:
		return from, to, false
	case first == "":
		return from, to, toFork
	}
	return from, to, ofFork || from.At != ""
}

func parsePoint(text string, isFork func(string) bool) (p Point, fork bool) {
	name, at, _ := strings.Cut(text, "@")
	if name != "" && isFork(name) {
		return Point{Fork: name, At: at}, true
	}
	return Point{At: strings.TrimPrefix(text, "@")}, false
}

// NoSuchPoint says of a word that names two moments, and of the error that there is no such checkpoint, that a fork may have been meant.
func NoSuchPoint(db, word string, err error) error {
	none, ok := errors.AsType[*sqlvfs.NoCheckpointError](err)
	first, last, _ := strings.Cut(word, "..")
	if !ok || none.Name != first && none.Name != last || strings.Trim(none.Name, "0123456789") == "" {
		return err
	}
	forks := "there are no forks"
	if names, err := workspace.Forks(db); err == nil && len(names) > 0 {
		forks = "the forks are " + strings.Join(names, ", ")
	}
	return cli.WithHint(fmt.Errorf("compare checkpoints of %s: no such fork or checkpoint: %s", db, none.Name), forks+"; `art log` shows the checkpoints")
}

// HintOfName says how a name is to be written that is no path, where it is that of a checkpoint or a fork; "": it is not.
func HintOfName(db, name string) string {
	if workspace.IsFork(db)(name) {
		return fmt.Sprintf("`art diff ..%[1]s` compares with the fork %[1]s", name)
	}
	m, err := sqlvfs.OpenMoment(db, name)
	if err != nil {
		return ""
	}
	defer m.Close()
	if m.Checkpoint() == nil {
		return ""
	}
	return fmt.Sprintf("`art diff @%s` compares with checkpoint %d", strings.TrimPrefix(name, "@"), m.Checkpoint().ID)
}
