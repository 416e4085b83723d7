package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Beside the tree stand directories for what must hold at all times.
const (
	logsName      = "logs"      // appended to
	countersName  = "counters"  // counted up under locks
	exclusiveName = "exclusive" // holds what one process at a time may have
	replacedName  = "replaced"  // files that are only ever replaced
	busyName      = "busy"      // a directory in which entries stay while others come and go
	few           = 4           // logs, counters, ...
	staying       = 400         // entries of the busy directory: more than one getdents(2) takes
)

var properties = []operation{
	{"append", 10, nil, (*worker).append},
	{"count", 5, nil, (*worker).count},
	{"exclusive file", 4, nil, (*worker).exclusiveFile},
	{"exclusive directory", 3, nil, (*worker).exclusiveDirectory},
	{"replace", 4, nil, (*worker).replace},
	{"read replaced", 4, nil, (*worker).readReplaced},
	{"come and go", 6, nil, (*worker).comeAndGo},
	{"list busy", 2, nil, (*worker).listBusy},
	{"nameless", 3, nil, (*worker).nameless},
}

// failed hides an error's number: for files that no one removes, no error is to be expected.
func failed(what string, err error) error {
	if err == nil || errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	return fmt.Errorf("%s: %v", what, err)
}

func some(w *worker, what string) string { return what + strconv.Itoa(w.rng.IntN(few)) }

// append adds a record to a log. Records read "writer number text checksum".
func (w *worker) append() error {
	log := some(w, "log")
	w.journal.Note("append to %s", log)
	f, err := os.OpenFile(w.at(logsName, log), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return failed("open a log", err)
	}
	defer f.Close()
	if w.Records[log] == nil {
		w.Records[log] = map[string]int{}
	}
	for range 1 + w.rng.IntN(3) {
		length := w.rng.IntN(100)
		if w.rng.IntN(8) == 0 {
			length = w.rng.IntN(10_000)
		}
		n := w.Records[log][w.id()]
		record := fmt.Appendf(nil, "%s %d %s", w.id(), n, strings.Repeat("x", length))
		record = fmt.Appendf(record, " %08x\n", crc32.ChecksumIEEE(record))
		if _, err := f.Write(record); err != nil {
			return failed("append", err)
		}
		w.Records[log][w.id()]++
	}
	if w.rng.IntN(20) == 0 {
		return failed("sync a log", f.Sync())
	}
	return nil
}

// count adds one to a number in a file, under a lock of either kind.
func (w *worker) count() error {
	n := w.rng.IntN(few)
	counter := fmt.Sprintf("counter%d", n)
	w.journal.Note("count %s", counter)
	f, err := os.OpenFile(w.at(countersName, counter), os.O_RDWR, 0)
	if err != nil {
		return failed("open a counter", err)
	}
	defer f.Close() // releases the lock
	if n%2 == 0 {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	} else {
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLKW, &unix.Flock_t{Type: unix.F_WRLCK})
	}
	if err != nil {
		return failed("lock", err)
	}
	text := make([]byte, 20)
	m, err := unix.Pread(int(f.Fd()), text, 0)
	if err != nil {
		return failed("read a counter", err)
	}
	was, err := strconv.Atoi(string(text[:m]))
	if err != nil {
		return failed("read a counter", err)
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(was+1)), 0); err != nil {
		return failed("write a counter", err)
	}
	w.Counters[counter]++
	return nil
}

func (w *worker) exclusiveFile() error {
	path := w.at(exclusiveName, some(w, "file"))
	w.journal.Note("exclusive %s", filepath.Base(path))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	if err != nil {
		return failed("create exclusively", err)
	}
	defer f.Close()
	mine := fmt.Sprintf("%s %d", w.id(), w.journal.Len())
	if _, err := f.WriteString(mine); err != nil {
		return failed("write", err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		return failed("read what is mine alone", err)
	}
	if string(got) != mine {
		return fmt.Errorf("%s is held by %q and by %q", w.short(path), mine, got)
	}
	return failed("remove what is mine alone", unix.Unlink(path))
}

func (w *worker) exclusiveDirectory() error {
	path := w.at(exclusiveName, some(w, "directory"))
	w.journal.Note("exclusive %s", filepath.Base(path))
	if err := unix.Mkdir(path, 0o755); errors.Is(err, unix.EEXIST) {
		return nil
	} else if err != nil {
		return failed("mkdir", err)
	}
	inner := filepath.Join(path, "mine")
	if err := unix.Symlink(w.id(), inner); err != nil {
		return failed("make a link in what is mine alone", err)
	}
	if err := unix.Rmdir(path); !errors.Is(err, unix.ENOTEMPTY) {
		return fmt.Errorf("rmdir of a directory that is not empty: %v", err)
	}
	if err := unix.Unlink(inner); err != nil {
		return failed("unlink in what is mine alone", err)
	}
	return failed("rmdir of what is mine alone", unix.Rmdir(path))
}

// whole is content that proves itself.
func whole(body []byte) []byte {
	return append(fmt.Appendf(nil, "%08x %8d\n", crc32.ChecksumIEEE(body), len(body)), body...)
}

func checkWhole(data []byte) error {
	var sum, n int
	if _, err := fmt.Sscanf(string(data[:min(len(data), 18)]), "%x %d\n", &sum, &n); err != nil {
		return fmt.Errorf("no header in %d bytes: %v", len(data), err)
	}
	if body := data[18:]; len(body) != n || int(crc32.ChecksumIEEE(body)) != sum {
		return fmt.Errorf("%d bytes, not the %d that were written", len(body), n)
	}
	return nil
}

func (w *worker) replace() error {
	path, tmp := w.at(replacedName, some(w, "file")), w.at(replacedName, w.own())
	w.journal.Note("replace %s", filepath.Base(path))
	body := bytes.Repeat(fmt.Appendf(nil, "%016x", w.rng.Uint64()), w.rng.IntN(10_000))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return failed("create", err)
	}
	defer f.Close()
	if _, err := f.Write(whole(body)); err != nil {
		return failed("write", err)
	}
	if w.rng.IntN(10) == 0 {
		if err := f.Sync(); err != nil {
			return failed("sync", err)
		}
	}
	return failed("rename", unix.Rename(tmp, path))
}

func (w *worker) readReplaced() error {
	path := w.at(replacedName, some(w, "file"))
	w.journal.Note("read replaced %s", filepath.Base(path))
	data, err := os.ReadFile(path)
	if err != nil {
		return failed("read what is only ever replaced", err)
	}
	return failed(w.short(path), checkWhole(data))
}

// comeAndGo changes the busy directory, before and after what stays in it.
func (w *worker) comeAndGo() error {
	path := w.at(busyName, w.own())
	w.journal.Note("come and go")
	if err := unix.Mknod(path, unix.S_IFREG|0o644, 0); err != nil {
		return failed("mknod", err)
	}
	if w.rng.IntN(2) == 0 {
		to := w.at(busyName, w.own())
		if err := unix.Rename(path, to); err != nil {
			return failed("rename", err)
		}
		path = to
	}
	return failed("unlink", unix.Unlink(path))
}

func stayingName(i int) string { return fmt.Sprintf("stays-%04d", i) }

func (w *worker) listBusy() error {
	w.journal.Note("list busy")
	return listStaying(w.Dir)
}

// listStaying proves that a listing of the busy directory has each entry that stays, once.
func listStaying(dir string) error {
	ents, err := list(filepath.Join(dir, busyName))
	if err != nil {
		return failed("list", err)
	}
	seen := map[string]int{}
	for _, e := range ents {
		seen[e.name]++
	}
	for i := range staying {
		if n := seen[stayingName(i)]; n != 1 {
			return fmt.Errorf("%s is listed %d times among %d entries", stayingName(i), n, len(ents))
		}
	}
	return nil
}

// nameless writes to a file, takes its name away, and goes on with it.
func (w *worker) nameless() error {
	path := w.at(exclusiveName, w.own())
	w.journal.Note("nameless")
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return failed("create", err)
	}
	defer unix.Close(fd)
	body := whole(bytes.Repeat([]byte{byte(w.rng.IntN(256))}, w.rng.IntN(200_000)))
	half := len(body) / 2
	if _, err := unix.Pwrite(fd, body[:half], 0); err != nil {
		return failed("write", err)
	}
	if err := unix.Unlink(path); err != nil {
		return failed("unlink", err)
	}
	if _, err := unix.Pwrite(fd, body[half:], int64(half)); err != nil {
		return failed("write without a name", err)
	}
	if w.rng.IntN(4) == 0 {
		if err := unix.Fsync(fd); err != nil {
			return failed("sync without a name", err)
		}
	}
	if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
		return failed("drop the cache", err)
	}
	got := make([]byte, len(body)+1)
	n, err := unix.Pread(fd, got, 0)
	if err != nil {
		return failed("read without a name", err)
	}
	if !bytes.Equal(got[:n], body) {
		return fmt.Errorf("a file without a name holds other content: %d bytes, want %d", n, len(body))
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return failed("fstat without a name", err)
	}
	if st.Nlink != 0 {
		return fmt.Errorf("a file without a name has %d links", st.Nlink)
	}
	return nil
}
