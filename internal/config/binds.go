// Package config reads the workspace's configuration, <workspace>/.art/config.
// Whatever it cannot honour exactly as written is an error: a typing mistake must
// never widen, nor silently narrow, what the guest gets.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// BindsFile is the path of the file of binds within a workspace.
const BindsFile = ".art/config/binds.json"

// Bind is one host path that the guest sees at a place of its own.
type Bind struct {
	// Host is the path on the host: absolute, or relative to the workspace, and
	// then beneath it.
	Host string
	// Guest is the absolute, clean path in the guest.
	Guest string
	// ReadOnly denies the guest writing.
	ReadOnly bool
}

// Relative says that Host is relative to the workspace.
func (b Bind) Relative() bool { return !filepath.IsAbs(b.Host) }

// ReadBinds reads the binds of the workspace whose root directory is open as root.
// No file is no binds. home is the guest's home directory and workspace the
// workspace's path in the guest.
func ReadBinds(root *os.File, home, workspace string) ([]Bind, error) {
	text, err := readTrusted(root, BindsFile)
	if text == nil || err != nil {
		return nil, err
	}
	name := filepath.Join(root.Name(), BindsFile)
	binds, err := ParseBinds(text, home, workspace)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, b := range binds {
		fd, err := OpenHost(int(root.Fd()), b.Host)
		if err != nil {
			return nil, fmt.Errorf("%s: entry %d: host %q: %w", name, i+1, b.Host, err)
		}
		unix.Close(fd)
	}
	return binds, nil
}

// ParseBinds parses the text of a binds file. Entries are counted from 1 in
// errors.
func ParseBinds(text []byte, home, workspace string) ([]Bind, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8, which JSON is made of")
	}
	if err := checkKeys(text); err != nil {
		return nil, err
	}
	var file struct {
		Binds *[]json.RawMessage `json:"binds"`
	}
	if err := strict(text, &file); err != nil {
		return nil, err
	}
	if file.Binds == nil {
		return nil, errors.New(`the key "binds" is missing`)
	}
	var binds []Bind
	for i, raw := range *file.Binds {
		b, err := parseBind(raw)
		if err == nil {
			err = checkGuest(b.Guest, home, workspace, binds)
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		binds = append(binds, b)
	}
	return binds, nil
}

func parseBind(raw json.RawMessage) (Bind, error) {
	var entry struct {
		Host     *string `json:"host"`
		Guest    *string `json:"guest"`
		ReadOnly *bool   `json:"readonly"`
	}
	if err := strict(raw, &entry); err != nil {
		return Bind{}, err
	}
	switch {
	case entry.Host == nil || *entry.Host == "":
		return Bind{}, errors.New(`"host" is missing`)
	case entry.Guest == nil || *entry.Guest == "":
		return Bind{}, errors.New(`"guest" is missing`)
	case strings.ContainsRune(*entry.Host, 0) || strings.ContainsRune(*entry.Guest, 0):
		return Bind{}, errors.New("a path holds a NUL character")
	case !path.IsAbs(*entry.Guest):
		return Bind{}, fmt.Errorf("guest %q is not an absolute path", *entry.Guest)
	}
	// A path left out is not meant to be writable: the narrower of the two.
	b := Bind{Host: filepath.Clean(*entry.Host), Guest: path.Clean(*entry.Guest), ReadOnly: true}
	if entry.ReadOnly != nil {
		b.ReadOnly = *entry.ReadOnly
	}
	if b.Relative() && !filepath.IsLocal(b.Host) {
		return Bind{}, fmt.Errorf("host %q is relative and leads out of the workspace", b.Host)
	}
	return b, nil
}

// checkGuest refuses the places where a bind would take away what the sandbox
// itself stands on, or which another bind covers or is covered by.
func checkGuest(guest, home, workspace string, others []Bind) error {
	for _, dir := range []string{"/proc", "/dev", "/sys"} {
		if within(guest, dir) {
			return fmt.Errorf("guest %q lies in %s, which is the sandbox's own", guest, dir)
		}
	}
	for _, dir := range []string{"/etc/passwd", "/etc/group", "/tmp", "/var/tmp", "/run", workspace, home} {
		if within(dir, guest) {
			return fmt.Errorf("guest %q would cover %s, which is the sandbox's own", guest, dir)
		}
	}
	if within(guest, path.Join(workspace, ".art")) {
		return fmt.Errorf("guest %q lies in the configuration", guest)
	}
	for i, other := range others {
		switch {
		case guest == other.Guest:
			return fmt.Errorf("guest %q is that of entry %d too", guest, i+1)
		case within(other.Guest, guest):
			return fmt.Errorf("guest %q would cover entry %d: put it before that one", guest, i+1)
		}
	}
	return nil
}

// within says whether p is dir or lies in it; both are clean and absolute.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// strict decodes exactly one JSON value without unknown keys.
func strict(text []byte, into any) error {
	if string(bytes.TrimSpace(text)) == "null" {
		return errors.New("null stands where an object is expected")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return fmt.Errorf("%q is a %s, not a %s", wrong.Field, wrong.Value, kind(wrong.Type))
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the end of the JSON value")
	}
	return nil
}

// kind names a type as JSON does.
func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Slice:
		return "list"
	}
	return t.Kind().String()
}

// checkKeys refuses what encoding/json lets pass: a key that comes twice in an
// object (the last would win) or differs from the known ones in case only.
func checkKeys(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	type object struct {
		keys   map[string]bool // nil for an array
		inside bool            // a key was read, its value comes next
	}
	var open []object
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "json: "))
		}
		top := len(open) - 1
		if top >= 0 && open[top].keys != nil && !open[top].inside {
			if key, ok := token.(string); ok {
				if key != strings.ToLower(key) {
					return fmt.Errorf("unknown field %q", key)
				}
				if open[top].keys[key] {
					return fmt.Errorf("the key %q comes twice", key)
				}
				open[top].keys[key] = true
				open[top].inside = true
				continue
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, object{keys: map[string]bool{}})
			continue
		case json.Delim('['):
			open = append(open, object{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:top]
			top--
		}
		if top >= 0 {
			open[top].inside = false
		}
	}
}

// OpenHost opens the host path of a bind with O_PATH, which needs no permission
// on it. A relative one is resolved beneath the workspace, which is open as root:
// a symbolic link in it, which a guest may have made, cannot lead out.
func OpenHost(root int, host string) (fd int, err error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}
	if !filepath.IsAbs(host) {
		how.Resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS
	}
	fd, err = unix.Openat2(root, host, how)
	if errors.Is(err, unix.EXDEV) {
		return -1, errors.New("a symbolic link leads out of the workspace")
	}
	return fd, err
}
