package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// AllowAlways writes rules into a file of the user's settings, those that it does not cover yet. All else in there stays as
// it is written. The file is replaced as a whole, keeps its mode, and stays where a link leads; one that cannot be read is left alone.
func AllowAlways(file string, rules []string) error {
	path, err := filepath.EvalSymlinks(file)
	if err != nil {
		return cli.Reason(err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return cli.Reason(err)
	}
	defer dir.Close() // and the lock is gone
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", dir.Name(), err)
	}
	old, err := os.Open(path)
	if err != nil {
		return cli.Reason(err)
	}
	defer old.Close()
	text, err := readBounded(old)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if text, err = allowAlways(file, text, rule); err != nil {
			return err
		}
	}
	return replace(path, old, text)
}

// allowAlways returns the text of a file of settings in which one more rule is allowed.
func allowAlways(file string, text []byte, rule string) ([]byte, error) {
	root, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	network := root.member("network")
	if network == nil {
		return nil, fmt.Errorf("%s: it says nothing of the network any more", file)
	}
	s := &Settings{}
	if err := network.network(s); err != nil {
		return nil, err
	}
	if s.Network.Value != NetworkNames {
		return nil, network.errorf("the network is %q by now", s.Network.Value)
	}
	e := Entry{Value: rule}
	switch {
	case coveredBy(e, s.NetDeny):
		return nil, network.errorf("%q is denied", rule)
	case coveredBy(e, s.NetAllow):
		return text, nil
	}
	word, err := json.Marshal(rule)
	if err != nil {
		return nil, err
	}
	out, err := insert(text, []string{"network", "allow"}, word)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	// Whoever reads the settings next must find them, and the rule.
	if root, err = parse(file, out); err == nil {
		s = &Settings{}
		err = root.member("network").network(s)
	}
	if err == nil && !slices.ContainsFunc(s.NetAllow, func(e Entry) bool { return e.Value == rule }) {
		err = errors.New("it does not say so afterwards")
	}
	return out, err
}

// insert puts a value at the end of a list in an object, or in a new list there, and keeps the text around it. path leads to the list by
// the keys of objects; all but the last are there.
func insert(text []byte, path []string, value []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	for _, key := range path {
		if _, err := d.Token(); err != nil { // the bracket that opens an object
			return nil, err
		}
		begin := d.InputOffset()
		found, err := seek(d, key)
		if err != nil {
			return nil, err
		}
		if !found {
			list := slices.Concat([]byte(fmt.Sprintf("%q: [", path[len(path)-1])), value, []byte("]"))
			return after(text, int(begin), list), nil
		}
	}
	if _, err := d.Token(); err != nil { // that of the list
		return nil, err
	}
	begin, end := int(d.InputOffset()), 0
	for d.More() {
		var element json.RawMessage
		if err := d.Decode(&element); err != nil {
			return nil, err
		}
		end = int(d.InputOffset())
	}
	if end == 0 {
		return after(text, begin, value), nil
	}
	blank := blankAt(text, begin)
	if len(blank) == 0 {
		blank = []byte(" ")
	}
	return slices.Concat(text[:end], []byte(","), blank, value, text[end:]), nil
}

// seek reads an object up to the value of a key. It reports whether there is one.
func seek(d *json.Decoder, key string) (bool, error) {
	for d.More() {
		token, err := d.Token()
		if err != nil || token == key {
			return err == nil, err
		}
		var other json.RawMessage
		if err := d.Decode(&other); err != nil {
			return false, err
		}
	}
	return false, nil
}

// after puts an element behind the bracket that opens a list or an object.
func after(text []byte, at int, element []byte) []byte {
	blank := blankAt(text, at)
	rest := text[at+len(blank):]
	if strings.IndexByte("]}", rest[0]) >= 0 {
		return slices.Concat(text[:at], element, text[at:])
	}
	between := blank
	if len(between) == 0 {
		between = []byte(" ")
	}
	return slices.Concat(text[:at], blank, element, []byte(","), between, rest)
}

// blankAt returns the blanks from a place on.
func blankAt(text []byte, at int) []byte {
	return text[at : len(text)-len(bytes.TrimLeft(text[at:], " \t\r\n"))]
}

// replace puts a text in the place of a file, which is open as old, with its mode, owner and group.
func replace(path string, old *os.File, text []byte) (err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(old.Fd()), &st); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return cli.Reason(err)
	}
	defer func() {
		f.Close()
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, cli.Reason(err))
		}
	}()
	if _, err = io.Copy(f, bytes.NewReader(text)); err != nil {
		return err
	}
	if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
		if err = f.Chown(int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	if err = f.Chmod(os.FileMode(st.Mode & 0o777)); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
