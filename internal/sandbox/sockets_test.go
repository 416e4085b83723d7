package sandbox

import (
	"net"
	"path/filepath"
	"slices"
	"testing"

	"github.com/riverlytech/art/internal/config"
)

func TestNamedSockets(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for address, named := range map[string]bool{
		path: true, "unix://" + path: true, "unix:path=" + path + ",guid=12": true, path + ",17,0": true,
		"unix:path=" + path + ";unix:path=/x": true,
		"":                                    false, "tcp://localhost:1": false, "unix:abstract=/x": false, "s": false,
		dir: false, path + "x": false,
	} {
		env := func(name string) string {
			if name == "SSH_AUTH_SOCK" {
				return address
			}
			return ""
		}
		var want []string
		if named {
			want = []string{path}
		}
		if got := namedSockets(env, nil); !slices.Equal(got, want) {
			t.Errorf("%q names %q, want %q", address, got, want)
		}
		if got := namedSockets(env, []config.Mount{{Host: path}}); got != nil {
			t.Errorf("%q is bound and hidden", address)
		}
	}
}
