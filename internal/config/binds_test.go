package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const home, workspace = "/home/agent", "/home/agent/ws"

func TestParseBinds(t *testing.T) {
	got, err := ParseBinds([]byte(`{"binds": [
		{"host": "/srv/data/", "guest": "/opt/data", "readonly": false},
		{"host": "rel/./path", "guest": "/opt/data/in/it"},
		{"guest": "/home/agent/.cache", "host": "/var/cache", "readonly": true}]}`), home, workspace)
	want := []Bind{
		{"/srv/data", "/opt/data", false},
		{"rel/path", "/opt/data/in/it", true},
		{"/var/cache", "/home/agent/.cache", true},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("parsed %+v, %v, want %+v", got, err, want)
	}
	if got, err := ParseBinds([]byte(`{"binds":[]}`), home, workspace); err != nil || len(got) != 0 {
		t.Errorf("no binds: %v, %v", got, err)
	}
}

func TestParseBindsRefuses(t *testing.T) {
	entry := func(guest string) string { return `{"binds":[{"host":"/x","guest":"` + guest + `"}]}` }
	for text, reason := range map[string]string{
		``:                                     "EOF",
		`null`:                                 "null",
		`[]`:                                   "array",
		`{}`:                                   `"binds" is missing`,
		`{"binds":null}`:                       `"binds" is missing`,
		`{"binds":[]} {}`:                      "follows",
		`{"binds":[],"bind":[]}`:               "bind",
		`{"binds":[],"binds":[]}`:              "twice",
		`{"Binds":[]}`:                         "Binds",
		`{"binds":[null]}`:                     "entry 1: null",
		`{"binds":[{"guest":"/opt/a"}]}`:       `entry 1: "host" is missing`,
		`{"binds":[{"host":"/x"}]}`:            `entry 1: "guest" is missing`,
		`{"binds":[{"host":"","guest":"/a"}]}`: `"host" is missing`,
		`{"binds":[{"host":"/x","guest":"/opt/a","readOnly":false}]}`:                    "readOnly",
		`{"binds":[{"host":"/x","guest":"/opt/a","readonly":"no"}]}`:                     `"readonly" is a string, not a boolean`,
		`{"binds":[{"host":"/x","guest":"/opt/a","readonly":true,"readonly":false}]}`:    "twice",
		`{"binds":[{"host":"../x","guest":"/opt/a"}]}`:                                   "leads out of the workspace",
		`{"binds":[{"host":"a/../../x","guest":"/opt/a"}]}`:                              "leads out of the workspace",
		`{"binds":[{"host":"/x","guest":"/opt/a\u0000b"}]}`:                              "NUL",
		"{\"binds\":[{\"host\":\"/\xff\",\"guest\":\"/opt/a\"}]}":                        "UTF-8",
		`{"binds":[{"host":"/x","guest":"/opt/a"},{"host":"/y","guest":"/opt/b/../a"}]}`: "entry 2: guest \"/opt/a\" is that of entry 1",
		`{"binds":[{"host":"/x","guest":"/opt/a/b"},{"host":"/y","guest":"/opt/a"}]}`:    "entry 2: guest \"/opt/a\" would cover entry 1",
		entry("opt/a"):                 "not an absolute path",
		entry("/"):                     "would cover",
		entry("/opt/.."):               "would cover",
		entry("/proc"):                 "lies in /proc",
		entry("/proc/self/x"):          "lies in /proc",
		entry("/dev/shm"):              "lies in /dev",
		entry("/etc"):                  "would cover /etc/passwd",
		entry("/etc/passwd"):           "would cover /etc/passwd",
		entry("/home"):                 "would cover",
		entry("/home/agent"):           "would cover",
		entry("/home/agent/ws"):        "would cover",
		entry("/home/agent/ws/.art"):   "configuration",
		entry("/home/agent/ws/.art/x"): "configuration",
		entry("/tmp"):                  "would cover /tmp",
	} {
		got, err := ParseBinds([]byte(text), home, workspace)
		if err == nil {
			t.Errorf("%s was parsed as %+v", text, got)
		} else if !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %q does not say %q", text, err, reason)
		}
	}
}

// write makes a workspace with the given binds file and returns its root.
func write(t *testing.T, text string) *os.File {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".art/config"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, BindsFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func TestReadBinds(t *testing.T) {
	root := write(t, `{"binds":[{"host":"data","guest":"/opt/a"}]}`)
	if _, err := ReadBinds(root, home, workspace); err == nil ||
		!strings.Contains(err.Error(), BindsFile+": entry 1") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a host path that does not exist: %v", err)
	}
	if err := os.Mkdir(filepath.Join(root.Name(), "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if binds, err := ReadBinds(root, home, workspace); err != nil || len(binds) != 1 {
		t.Errorf("read %+v, %v", binds, err)
	}
}

func TestReadBindsWithoutFile(t *testing.T) {
	root, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if binds, err := ReadBinds(root, home, workspace); err != nil || binds != nil {
		t.Errorf("read %+v, %v", binds, err)
	}
}

func TestReadBindsFollowsNoLink(t *testing.T) {
	trusted := write(t, `{"binds":[]}`)
	for _, path := range []string{".art", ".art/config", BindsFile} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(trusted.Name(), path), filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
		root, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if binds, err := ReadBinds(root, home, workspace); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s is a link: read %+v, %v", path, binds, err)
		}
		root.Close()
	}
}

func TestReadBindsWaitsForNoPipe(t *testing.T) {
	root := write(t, "")
	path := filepath.Join(root.Name(), BindsFile)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadBinds(root, home, workspace); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a named pipe: %v", err)
	}
}

func TestOpenHostStaysBeneath(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	for name, target := range map[string]string{"inner": "real", "absolute": outside, "up": "../../../../../../etc"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := unix.Open(dir, unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	for host, ok := range map[string]bool{"real": true, "inner": true, "absolute": false, "up": false, outside: true} {
		fd, err := OpenHost(root, host)
		if (err == nil) != ok {
			t.Errorf("%s: %v, want success: %v", host, err, ok)
		}
		if err == nil {
			unix.Close(fd)
		}
	}
}

func FuzzParseBinds(f *testing.F) {
	f.Add([]byte(`{"binds": [{"host": "/a", "guest": "/opt/b", "readonly": true}]}`))
	f.Add([]byte(`{"binds": [{"host": "a", "guest": "/home/agent/x"}, {}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		binds, err := ParseBinds(text, home, workspace)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, b := range binds {
			if !filepath.IsAbs(b.Guest) || b.Guest != filepath.Clean(b.Guest) || seen[b.Guest] {
				t.Errorf("%s: guest %q", text, b.Guest)
			}
			seen[b.Guest] = true
			if b.Relative() && !filepath.IsLocal(b.Host) {
				t.Errorf("%s: host %q", text, b.Host)
			}
			for _, dir := range []string{home, workspace, "/etc/passwd", "/tmp"} {
				if within(dir, b.Guest) {
					t.Errorf("%s: guest %q covers %s", text, b.Guest, dir)
				}
			}
		}
	})
}
