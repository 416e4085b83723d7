package stage

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSocketPaths(t *testing.T) {
	const text = `Num       RefCount Protocol Flags    Type St Inode Path
00000000193224f9: 00000003 00000000 00000000 0001 03   129
00000000a1f5670c: 00000002 00000000 00010000 0001 01 12345 /srv/a socket/with blanks 
00000000a1f5670d: 00000002 00000000 00010000 0001 01   129 @/tmp/.X11-unix/X0
00000000a1f5670e: 00000002 00000000 00010000 0002 01   130 relative
00000000a1f5670f: 00000002 00000000 00010000 0005 01 4294967295 /nix//var/./socket
00000000a1f56710: 00000002 00000000 00000000 0001 03 4294967296 /nix/var/socket
short
`
	if got := socketPaths([]byte(text)); !slices.Equal(got, []string{"/nix/var/socket", "/srv/a socket/with blanks "}) {
		t.Errorf("%q", got)
	}
}

// The kernel's own text says where a socket is.
func TestFindSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	paths, err := findSockets()
	if err != nil || !slices.Contains(paths, path) {
		t.Errorf("%v: %q", err, paths)
	}
}

func TestOnlySockets(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("service.pid")
	write(".s.PGSQL.5432.lock")
	if !onlySockets(dir) {
		t.Error("a process id beside a socket counts as data")
	}
	write("data")
	if onlySockets(dir) {
		t.Error("data would be hidden with the socket beside it")
	}
	if onlySockets(filepath.Join(dir, "none")) {
		t.Error("there is no directory")
	}
}
