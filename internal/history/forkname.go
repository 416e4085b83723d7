package history

import (
	"strings"

	"github.com/riverlytech/art/internal/workspace"
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
