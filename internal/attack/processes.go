package attack

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func processes() []Attempt {
	return area("processes of the host", []Attempt{
		{Name: "signal a process", try: func(t *Target) error { return unix.Kill(t.pid, 0) }},
		{Name: "open a process", try: func(t *Target) error {
			fd, err := unix.PidfdOpen(t.pid, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}},
		{Name: "see its environment", try: func(t *Target) error { return read(t.proc("environ")) }},
		{Name: "see its files through its root", try: func(t *Target) error { return list(t.proc("root")) }},
		{Name: "take its descriptors", Needs: Root, try: func(t *Target) error { return list(t.proc("fd")) }},
		{Name: "read its memory", Needs: Root, try: memory},
		{Name: "trace it", Needs: Root, try: attach},
		{Name: "find the caller's secret in /proc", try: secretInProc},
		{Name: "use an inherited descriptor", try: inherited},

		// The sandbox's first process is bubblewrap.
		{Name: "debug the first process", Needs: Host, try: debugFirst},
		{Name: "see the environment of the first process", Needs: Host, try: func(*Target) error { return read("/proc/1/environ") }},
		{Name: "write the program of the first process", Needs: Host, try: func(*Target) error { return openWith("/proc/1/exe", unix.O_RDWR) }},
		{Name: "use the descriptors of the first process", Needs: Host, try: func(*Target) error {
			return any(glob("/proc/1/fd/*", "/proc/1/map_files/*"), func(path string) error {
				info, err := os.Stat(path)
				if err != nil {
					return err
				}
				mode := info.Mode()
				return found(mode.IsRegular() || mode.IsDir() || mode&os.ModeSocket != 0)
			})
		}},
	})
}

// area says of attempts what they are made on.
func area(name string, attempts []Attempt) []Attempt {
	for i := range attempts {
		attempts[i].Area = name
	}
	return attempts
}

// memory reads where the process's first mapping begins.
func memory(t *Target) error {
	maps, err := os.ReadFile(t.proc("maps"))
	if err != nil {
		return err
	}
	begin, _, _ := strings.Cut(string(maps), "-")
	var address int64
	for _, c := range begin {
		address = address<<4 | int64(strings.IndexRune("0123456789abcdef", c))
	}
	f, err := os.Open(t.proc("mem"))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.ReadAt(make([]byte, 4), address)
	return err
}

// attach stops the process for a moment.
func attach(t *Target) error {
	if err := unix.PtraceAttach(t.pid); err != nil {
		return err
	}
	if _, err := unix.Wait4(t.pid, nil, unix.WALL, nil); err != nil {
		return err
	}
	return unix.PtraceDetach(t.pid)
}

// debugFirst traces the first process, to have it do what this one may not do.
func debugFirst(*Target) error {
	filtered, err := field("/proc/1/status", "Seccomp")
	if err != nil {
		return err
	}
	if err := unix.PtraceSeize(1); err != nil { // for as long as this process lives
		return err
	}
	if filtered == "2" {
		return errors.New("its calls are filtered, too")
	}
	return nil
}

func secretInProc(*Target) error {
	const most = 256 << 10 // some, such as mem, have no end
	// First where it is most likely: a host has many processes.
	return any(glob("/proc/[0-9]*/environ", "/proc/[0-9]*/*"), func(path string) error {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return errNothing
		}
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		text := make([]byte, most)
		n := 0
		for n < most {
			more, err := unix.Read(fd, text[n:])
			if more <= 0 || err != nil {
				break // what could be read is what there is
			}
			n += more
		}
		return found(bytes.Contains(text[:n], []byte(secret)))
	})
}

// inherited looks for a descriptor of the target's database, which whoever started
// the sandbox had left open.
func inherited(t *Target) error {
	return any(glob("/proc/self/fd/*"), func(path string) error {
		name, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return found(filepath.Base(name) == database)
	})
}
