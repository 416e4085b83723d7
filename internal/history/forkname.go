package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/workspace"
)

// FindFork returns the path of the fork of a database that has a name. A name with a slash in it is a path.
func FindFork(db, name string) (path string, err error) {
	path = name
	if !strings.ContainsRune(name, '/') {
		if path, err = workspace.Fork(db, name); err != nil {
			return "", err
		}
	}
	if _, err = os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		hint := "art fork makes one"
		if names, lerr := workspace.Forks(db); lerr == nil && len(names) > 0 {
			hint = "there are " + strings.Join(names, ", ")
		}
		err = cli.WithHint(fmt.Errorf("find the fork %s of %s: there is none", cli.Printable(name), cli.Printable(db)), hint)
	}
	return path, err
}

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
	return FindFork(db, p.Fork)
}

// ParseRange reads what names two moments: "A..B", "A..", "@A" or "@A..@B", where A and B are numbers or labels of checkpoints, or names of forks,
// also "FORK@A", and the present where there is no B. "..FORK" begins with the present. isFork tells what is the name of a fork. Whatever else
// a word is, it is none.
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

// IsFork tells what is the name of a fork of a database. What is a number is that of a checkpoint.
func IsFork(db string) func(string) bool {
	return func(name string) bool {
		if strings.Trim(name, "0123456789") == "" {
			return false
		}
		path, err := workspace.Fork(db, name)
		if err != nil {
			return false
		}
		_, err = os.Lstat(path)
		return err == nil
	}
}
