package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// prepare makes what every run finds.
func prepare(dir string) (*expected, error) {
	write := func(data string, path ...string) error {
		return os.WriteFile(filepath.Join(append([]string{dir}, path...)...), []byte(data), 0o644)
	}
	for _, d := range []string{treeName, logsName, countersName, exclusiveName, replacedName, busyName} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	e := &expected{tally: newTally()}
	for i := range few {
		n := strconv.Itoa(i)
		e.Records["log"+n] = map[string]int{}
		e.Counters["counter"+n] = 0
		if err := errors.Join(
			write("", logsName, "log"+n),
			write("0", countersName, "counter"+n),
			write(string(whole(nil)), replacedName, "file"+n),
		); err != nil {
			return nil, err
		}
	}
	for i := range staying {
		if err := write("", busyName, stayingName(i)); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// verify proves what must hold while nobody works on the directory. If it is not known yet what the
// tree looks like, that is noted.
func verify(dir string, want *expected) error {
	var problems []error
	for log, writers := range want.Records {
		if err := checkLog(filepath.Join(dir, logsName, log), writers); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", log, err))
		}
	}
	for counter, n := range want.Counters {
		if text, err := os.ReadFile(filepath.Join(dir, countersName, counter)); err != nil || string(text) != strconv.Itoa(n) {
			problems = append(problems, fmt.Errorf("%s is %q, want %d (%v)", counter, text, n, err))
		}
	}
	for i := range few {
		name := fmt.Sprintf("file%d", i)
		data, err := os.ReadFile(filepath.Join(dir, replacedName, name))
		if err == nil {
			err = checkWhole(data)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("replaced %s: %w", name, err))
		}
	}
	problems = append(problems, listStaying(dir))
	for name, n := range map[string]int{logsName: few, countersName: few, exclusiveName: 0, replacedName: few, busyName: staying} {
		if ents, err := list(filepath.Join(dir, name)); err != nil || len(ents) != n {
			problems = append(problems, fmt.Errorf("%s has %d entries, want %d (%v)", name, len(ents), n, err))
		}
	}
	s := survey{seen: map[string]string{}, names: map[uint64]int{}, links: map[uint64]int{}}
	s.directory(dir, "")
	for ino, n := range s.names {
		if s.links[ino] != n {
			s.complain("inode %d has %d links and %d names", ino, s.links[ino], n)
		}
	}
	problems = append(problems, s.problems...)
	if want.Tree == nil {
		want.Tree = s.seen
	}
	for path, line := range want.Tree {
		if got := s.seen[path]; got != line {
			problems = append(problems, fmt.Errorf("%s is %q, was %q", path, got, line))
		}
	}
	for path := range s.seen {
		if want.Tree[path] == "" {
			problems = append(problems, fmt.Errorf("%s is there, and was not", path))
		}
	}
	return errors.Join(problems...)
}

// checkLog proves that a log has each writer's records in order, each once and whole.
func checkLog(path string, writers map[string]int) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	next := map[string]int{}
	for i, line := range slices.Collect(bytes.Lines(data)) {
		body := line[:max(0, len(line)-10)]
		if fmt.Sprintf(" %08x\n", crc32.ChecksumIEEE(body)) != string(line[len(body):]) {
			return fmt.Errorf("record %d is not whole: %.100q", i, line)
		}
		var writer string
		var n int
		if _, err := fmt.Sscan(string(body), &writer, &n); err != nil || n != next[writer] {
			return fmt.Errorf("record %d is %.40q, want number %d of that writer (%v)", i, body, next[writer], err)
		}
		next[writer]++
	}
	for writer, n := range writers {
		if next[writer] != n {
			return fmt.Errorf("%d records of %s, want %d", next[writer], writer, n)
		}
	}
	return nil
}

// survey walks a tree in which nothing happens and notes what is there.
type survey struct {
	seen     map[string]string // by path
	names    map[uint64]int    // inode: names found
	links    map[uint64]int    // inode: link count
	problems []error
}

func (s *survey) complain(format string, args ...any) {
	s.problems = append(s.problems, fmt.Errorf(format, args...))
}

// directory notes all that is below a directory; rel is its path below dir.
func (s *survey) directory(dir, rel string) {
	ents, err := list(filepath.Join(dir, rel))
	if err != nil {
		s.complain("list %s: %w", rel, err)
		return
	}
	subdirectories, listed := 0, map[string]bool{}
	for _, e := range ents {
		path := filepath.Join(rel, e.name)
		if listed[e.name] {
			s.complain("%s is listed twice", path)
		}
		listed[e.name] = true
		if path == stateName {
			continue
		}
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(dir, path), &st); err != nil {
			s.complain("stat %s, which is listed: %w", path, err)
			continue
		}
		if kind := uint8(st.Mode & unix.S_IFMT >> 12); e.ino != st.Ino || e.kind != kind { // IFTODT in dirent.h
			s.complain("%s is listed as inode %d of type %d and is %d of type %d", path, e.ino, e.kind, st.Ino, kind)
		}
		s.seen[path] = fmt.Sprintf("mode %o modified %d.%09d", st.Mode, st.Mtim.Sec, st.Mtim.Nsec)
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			subdirectories++
			s.directory(dir, path)
			continue
		}
		s.names[st.Ino]++
		s.links[st.Ino] = int(st.Nlink)
		s.seen[path] += fmt.Sprintf(" links %d size %d", st.Nlink, st.Size)
		s.content(filepath.Join(dir, path), path, &st)
	}
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(dir, rel), &st); err != nil {
		s.complain("stat %s: %w", rel, err)
	} else if st.Nlink != 1 && int(st.Nlink) != 2+subdirectories { // 1: it is not counted
		s.complain("%s has %d links and %d directories in it", rel, st.Nlink, subdirectories)
	}
}

// content notes what a file holds, and proves that it can.
func (s *survey) content(real, path string, st *unix.Stat_t) {
	var data []byte
	var err error
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		data, err = os.ReadFile(real)
	case unix.S_IFLNK:
		var target string
		target, err = os.Readlink(real)
		data = []byte(target)
	default:
		return
	}
	switch {
	case err != nil:
		s.complain("read %s: %w", path, err)
	case int64(len(data)) != st.Size:
		s.complain("%s has %d bytes, and its size is %d", path, len(data), st.Size)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFREG && strings.HasPrefix(path, treeName+"/") {
		if err := checkSlots(data); err != nil {
			s.complain("%s: %w", path, err)
		}
	}
	s.seen[path] += fmt.Sprintf(" content %08x", crc32.ChecksumIEEE(data))
}
