package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/cli"
)

// forkMark stands between the name of a database and that of a fork of it. The name of a fork has none.
const forkMark = "+"

// maxFork is the longest name of a fork.
const maxFork = 40

func validFork(name string) bool {
	ok := len(name) > 0 && len(name) <= maxFork && !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, ".")
	return ok && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r))
	})
}

// Fork returns the path of a fork of a database: beside it.
func Fork(database, name string) (string, error) {
	if !validFork(name) {
		return "", cli.WithHint(fmt.Errorf("name a fork %q: that cannot be the name of one", name), "it has up to 40 letters, digits, and - _ . between them")
	}
	return strings.TrimSuffix(database, suffix) + forkMark + name + suffix, nil
}

// Forks returns the names of the forks that lie beside a database, as their files are called.
func Forks(database string) (names []string, err error) {
	files, err := os.ReadDir(filepath.Dir(database))
	if err != nil {
		return nil, err
	}
	before := strings.TrimSuffix(filepath.Base(database), suffix) + forkMark
	for _, f := range files {
		name, is := strings.CutPrefix(f.Name(), before)
		if name, ends := strings.CutSuffix(name, suffix); is && ends && validFork(name) && f.Type().IsRegular() {
			names = append(names, name)
		}
	}
	return names, nil
}

// FindFork returns the path of the fork of a database that has a name. A name with a slash in it is a path.
func FindFork(db, name string) (path string, err error) {
	path = name
	if !strings.ContainsRune(name, '/') {
		if path, err = Fork(db, name); err != nil {
			return "", err
		}
	}
	if _, err = os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if _, derr := os.Lstat(db); errors.Is(derr, fs.ErrNotExist) {
			return path, cli.WithHint(fmt.Errorf("find the fork %s of %s: there is no such database", cli.Printable(name), cli.Printable(db)), "`art list` shows those that art keeps")
		}
		hint := "art fork makes one"
		if names, lerr := Forks(db); lerr == nil && len(names) > 0 {
			hint = "there are " + strings.Join(names, ", ")
		}
		err = cli.WithHint(fmt.Errorf("find the fork %s of %s: there is none", cli.Printable(name), cli.Printable(db)), hint)
	}
	return path, err
}

// IsFork tells what is the name of a fork of a database. What is a number is that of a checkpoint.
func IsFork(db string) func(string) bool {
	return func(name string) bool {
		if strings.Trim(name, "0123456789") == "" {
			return false
		}
		path, err := Fork(db, name)
		if err != nil {
			return false
		}
		_, err = os.Lstat(path)
		return err == nil
	}
}

// Absolute is a path from the root on, as far as that is known.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// scratchMark begins what is behind forkMark in the name of a scratch fork, which a command makes for itself: no fork has such a name.
const scratchMark = "."

// Scratch returns the path of the nth scratch fork of a database that this process makes for a command.
func Scratch(database, command string, n int64) string {
	return Absolute(fmt.Sprintf("%s%s%s%s-%d-%d%s", strings.TrimSuffix(database, suffix), forkMark, scratchMark, command, os.Getpid(), n, suffix))
}

// ScratchOf returns which command has made the scratch fork at a path, or was to, and the how many it is of its process, if it is one.
func ScratchOf(path string) (command string, nth int64, ok bool) {
	name, ends := strings.CutSuffix(filepath.Base(path), suffix)
	at := strings.LastIndex(name, forkMark+scratchMark)
	if !ends || at < 0 {
		return "", 0, false
	}
	words := strings.Split(name[at+len(forkMark+scratchMark):], "-")
	if len(words) != 3 {
		return "", 0, false
	}
	pid, err := strconv.Atoi(words[1])
	if err != nil || pid <= 0 {
		return "", 0, false
	}
	nth, err = strconv.ParseInt(words[2], 10, 64)
	return words[0], nth, err == nil && nth >= 0
}
