// Package registries finds where the package managers of a user fetch packages from, as their own files and the user's environment
// say, without running them. What nothing is said of is what the tool's own documents say that it uses then.
//
//	npm.go     npm
//	python.go  pip and uv
//	cargo.go   cargo, whose files toml.go reads
//	golang.go  go
//	apt.go     apt
//	place.go   an address as a rule
//
// The files are the user's and the system's alone. Those that lie where a guest writes count for nothing, and a file that cannot be
// understood has its tool bring nothing: a default in its place could be what the user does not want.
package registries

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// User is whose package managers they are.
type User struct {
	Getenv func(string) string
	// Environ has the variables, for tools that look for some by the beginnings of their names.
	Environ []string
	Home    string
	// Guest says whether a guest may have written a file: of its path without links.
	Guest func(path string) bool
	// Root stands before the paths of the system, for tests.
	Root string
}

// maxFile bounds a file, in bytes, and maxPlaces what a tool can bring.
const (
	maxFile   = 1 << 20
	maxPlaces = 100
)

var tools = []struct {
	name string
	find func(*User) (*found, error)
}{{"npm", npm}, {"pip", python}, {"cargo", cargo}, {"go", golang}, {"apt", apt}}

// Find returns the places that packages come from, and what is to be said of tools that bring none, or not all.
func Find(u *User) (places []Place, warnings []error) {
	for _, tool := range tools {
		f, err := tool.find(u)
		if err == nil && len(f.places) > maxPlaces {
			err = fmt.Errorf("there are %d places, more than %d", len(f.places), maxPlaces)
		}
		if err != nil {
			warnings = append(warnings, fmt.Errorf("%s: %w: nothing of it is allowed", tool.name, err))
			continue
		}
		for _, w := range f.warnings {
			warnings = append(warnings, fmt.Errorf("%s: %w", tool.name, w))
		}
		for _, p := range f.places {
			p.Tool = tool.name
			places = append(places, p)
		}
	}
	return places, warnings
}

// found is what a tool uses.
type found struct {
	places   []Place
	warnings []error
}

// said is a text of a file or a variable.
type said struct {
	text, from string
	line       int // 0: of a variable
}

func (s said) where() string {
	if s.line == 0 {
		return s.from
	}
	return fmt.Sprintf("%s:%d", s.from, s.line)
}

// add adds the place that an address leads to.
func (f *found) add(s said) error {
	p, err := parse(s.text)
	if err != nil {
		return fmt.Errorf("%s: %w", s.where(), err)
	}
	if p != nil {
		p.From, p.Configured = s.where(), true
		f.places = append(f.places, *p)
	}
	return nil
}

// byDefault adds hosts that the tool uses where nothing else is said.
func (f *found) byDefault(hosts ...string) {
	for _, host := range hosts {
		f.places = append(f.places, Place{Rule: host + ":443", From: "its default"})
	}
}

// proxy says that a tool fetches by way of a proxy, which is none of the places: who reaches it reaches what it reaches.
func (f *found) proxy(s said) {
	what := "a proxy"
	if p, err := parse(s.text); err == nil && p != nil {
		what = p.Rule
	}
	f.warnings = append(f.warnings, fmt.Errorf("%s: it fetches by way of %s, which leads to anything: name it if the session is to have that", s.where(), what))
}

// env is a variable, with the names that it goes by.
func (u *User) env(names ...string) (s said, ok bool) {
	for _, name := range names {
		if text := u.Getenv(name); text != "" {
			return said{text: text, from: "$" + name}, true
		}
	}
	return s, false
}

// directory is one of the user's, by its variable or below his home; "" if there is none.
func (u *User) directory(variable, below string) string {
	if dir := u.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	if u.Home == "" {
		return ""
	}
	return filepath.Join(u.Home, below)
}

// system is a path of the system.
func (u *User) system(path string) string { return filepath.Join(u.Root, path) }

// read returns the text of a file, or "" if there is none.
func (u *User) read(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := u.readFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return "", nil
	case err != nil:
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}

func (u *User) readFile(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", errors.New("the path is not absolute")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if u.Guest != nil && u.Guest(real) {
		return "", errors.New("it lies where a guest may have written it")
	}
	// Of a FIFO or a device nothing is waited for.
	file, err := os.OpenFile(real, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(errors.New("it is not a regular file"), err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxFile:
		return "", fmt.Errorf("it is larger than %d bytes", maxFile)
	case !utf8.Valid(text) || strings.ContainsRune(string(text), 0):
		return "", errors.New("it is not a text")
	}
	return strings.TrimPrefix(string(text), "\ufeff"), nil
}

// lines calls each for the lines of a text, from 1, until one is an error.
func lines(text string, each func(n int, line string) error) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if err := each(n, strings.TrimRight(line, "\r\n")); err != nil {
			return err
		}
	}
	return nil
}
