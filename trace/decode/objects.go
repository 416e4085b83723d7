package decode

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// shape returns the arguments of the call by the name, also of one that a 32-bit program
// makes, which has them in the same order.
func shape(c *Call) []argument {
	if s := signatures()[c.Name]; s != nil {
		return s.args
	}
	return nil
}

// has tells whether calls of a name have an argument of one of some names.
func has(name string, args ...string) bool {
	return slices.ContainsFunc(shape(&Call{Name: name}), func(a argument) bool { return slices.Contains(args, a.name) })
}

// HasPaths tells whether [Paths] may find any in calls of a name. Descriptors of sockets have none.
func HasPaths(name string) bool {
	call := syscalls.Lookup(name)
	return has(name, "path") || has(name, "fd") && (call == nil || !call.Network())
}

// HasFamilies tells the same of [Families].
func HasFamilies(name string) bool {
	call := syscalls.Lookup(name)
	return name == "socket" || name == "socketpair" || call != nil && call.Network() && has(name, "fd", "sockaddr")
}

// Paths returns the files that a call is about to name, or whose descriptors it gets, as
// absolute paths. Symbolic links in them are not followed, and of a path the .. are
// taken away as if there were none. What cannot be read is left out.
func Paths(c *Call) []string {
	var all []string
	args := shape(c)
	for i := range args {
		name := ""
		switch v := c.Args[args[i].register]; args[i].name {
		case "path":
			dir := workingDir
			if i > 0 && args[i-1].name == "dirfd" {
				dir = int(int32(c.Args[args[i-1].register]))
			}
			name = Resolve(c, dir, v)
		case "fd":
			name = c.Files.Path(int(int32(v)))
		}
		if path.IsAbs(name) {
			all = append(all, name)
		}
	}
	return all
}

const workingDir = unix.AT_FDCWD

// Resolve returns the path at addr as an absolute one, which begins at the directory dir,
// a descriptor or AT_FDCWD, if it is relative. It is empty where nothing is readable.
func Resolve(c *Call, dir int, addr uint64) string {
	name, ok := String(c.Mem, addr)
	switch {
	case !ok:
		return ""
	case path.IsAbs(name):
		return path.Clean(name)
	}
	base := ""
	if dir == workingDir {
		base = c.Files.Dir()
	} else {
		base = c.Files.Path(dir)
	}
	if name == "" || base == "" {
		return base // AT_EMPTY_PATH: the descriptor itself
	}
	return path.Join(base, name)
}

// Written returns the paths that a call is about to name, as they are written. What cannot be read is left out.
func Written(c *Call) []string {
	var all []string
	for _, a := range shape(c) {
		if a.name == "path" {
			if name, ok := String(c.Mem, c.Args[a.register]); ok {
				all = append(all, name)
			}
		}
	}
	return all
}

// Awaited returns the files of the descriptors that a call is about to wait for, as absolute paths.
func Awaited(c *Call) []string {
	var fds []int64
	p := c.print(nil)
	for _, a := range shape(c) {
		if a.name != "pollfd" && a.name != "fd_set" {
			continue
		}
		n := uint64(uint32(c.Args[a.number]))
		if a.name == "fd_set" {
			more, _ := p.fdSet(c.Args[a.register], n)
			fds = append(fds, more...)
			continue
		}
		b := make([]byte, min(n, 1<<16)*pollfdSize)
		for b = b[:c.Mem.Read(c.Args[a.register], b)]; len(b) >= pollfdSize; b = b[pollfdSize:] {
			fds = append(fds, int64(int32(u32(b, 0))))
		}
	}
	slices.Sort(fds)
	var all []string
	for _, fd := range slices.Compact(fds) {
		if name := c.Files.Path(int(fd)); path.IsAbs(name) {
			all = append(all, name)
		}
	}
	return all
}

// Directories returns the directories whose descriptors a call gets to begin paths at.
func Directories(c *Call) []string {
	var all []string
	for _, a := range shape(c) {
		if dir := int(int32(c.Args[a.register])); a.name == "dirfd" && dir != workingDir {
			if name := c.Files.Path(dir); path.IsAbs(name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// Families returns the address families that a call on sockets is about: of the socket that
// it makes or uses, and of the address that it gets.
func Families(c *Call) []int {
	var all []int
	if c.Name == "socket" || c.Name == "socketpair" {
		return append(all, int(int32(c.Args[0])))
	}
	call := syscalls.Lookup(c.Name)
	if call == nil || !call.Network() {
		return nil
	}
	add := func(family int, ok bool) {
		if ok && !slices.Contains(all, family) {
			all = append(all, family)
		}
	}
	args := shape(c)
	for i := range args {
		switch v := c.Args[args[i].register]; args[i].name {
		case "fd":
			if s, ok := c.Files.(Sockets); ok {
				add(s.Family(int(int32(v))))
			}
		case "sockaddr":
			var b [2]byte
			if v != 0 && c.Mem.Read(v, b[:]) == len(b) {
				add(int(order.Uint16(b[:])), true)
			}
		}
	}
	return all
}

// FamilyNamed returns the address family of a name such as inet or AF_INET.
func FamilyNamed(name string) (family int, ok bool) {
	for _, f := range networkFlags["af"].flags {
		if f.name == name || f.name == "AF_"+strings.ToUpper(name) {
			return int(f.value), true
		}
	}
	return 0, false
}
