package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/paths"
)

const home, workspace = "/home/agent", "/home/agent/ws"

// parseBinds reads a file of binds as a session does, up to where the host is asked.
func parseBinds(text string) ([]Mount, error) {
	mounts, err := (&source{name: "binds.json", dir: "/ws", home: "/home/me"}).binds([]byte(text))
	if err == nil {
		err = CheckGuests(mounts, home, workspace)
	}
	return mounts, err
}

func TestBinds(t *testing.T) {
	got, err := parseBinds(`{"binds": [
		{"host": "/srv/data/", "guest": "/opt/data", "readonly": false},
		{"host": "rel/./path", "guest": "/opt/data/in/it"},
		{"guest": "/home/agent/.cache", "host": "~/.cache", "readonly": true},
		{"host": "~/.cargo", "mode": "overlay"}]}`)
	want := []Mount{
		{Host: "/srv/data", Guest: "/opt/data", Origin: "binds.json:2"},
		{Host: "rel/path", Guest: "/opt/data/in/it", ReadOnly: true, Origin: "binds.json:3"},
		{Host: "/home/me/.cache", Guest: "/home/agent/.cache", ReadOnly: true, Origin: "binds.json:4"},
		{Host: "/home/me/.cargo", Guest: "/home/me/.cargo", Overlay: true, Origin: "binds.json:5"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("parsed %+v, %v, want %+v", got, err, want)
	}
	if got, err := parseBinds(`{"binds":[]}`); err != nil || got == nil || len(got) != 0 {
		t.Errorf("no binds: %v, %v", got, err)
	}
}

func TestBindsRefused(t *testing.T) {
	entry := func(guest string) string { return `{"binds":[{"host":"/x","guest":"` + guest + `"}]}` }
	for text, reason := range map[string]string{
		``:                               "unexpected end",
		`null`:                           "null",
		`[]`:                             "a list stands",
		`{}`:                             `"binds" is missing`,
		`{"binds":null}`:                 `null stands`,
		`{"binds":[]} {}`:                "after top-level value",
		`{"binds":[],"bind":[]}`:         "bind",
		`{"binds":[],"binds":[]}`:        "twice",
		`{"Binds":[]}`:                   "Binds",
		`{"binds":[null]}`:               "null stands",
		`{"binds":[{"guest":"/opt/a"}]}`: `"host" is missing`,
		`{"binds":[{"host":"/x"}]}`:      `"guest" is missing`,
		`{"binds":[{"host":"/x","mode":"ro","readonly":true}]}`:                          `the keys "mode" and "readonly" say the same`,
		`{"binds":[{"host":"/x","mode":"Overlay"}]}`:                                     `unknown value "Overlay": did you mean "overlay"?`,
		`{"binds":[{"host":"","guest":"/a"}]}`:                                           `is empty`,
		`{"binds":[{"host":"/x","guest":"/opt/a","readOnly":false}]}`:                    "readOnly",
		`{"binds":[{"host":"/x","guest":"/opt/a","readonly":"no"}]}`:                     `a string stands where true or false`,
		`{"binds":[{"host":"/x","guest":"/opt/a","readonly":true,"readonly":false}]}`:    "twice",
		`{"binds":[{"host":"../x","guest":"/opt/a"}]}`:                                   "leads out of the workspace",
		`{"binds":[{"host":"a/../../x","guest":"/opt/a"}]}`:                              "leads out of the workspace",
		`{"binds":[{"host":"/x","guest":"/opt/a\u0000b"}]}`:                              "NUL",
		"{\"binds\":[{\"host\":\"/\xff\",\"guest\":\"/opt/a\"}]}":                        "UTF-8",
		`{"binds":[{"host":"/x","guest":"/opt/a"},{"host":"/y","guest":"/opt/b/../a"}]}`: "guest \"/opt/a\" is that of binds.json:1",
		`{"binds":[{"host":"/x","guest":"/opt/a/b"},{"host":"/y","guest":"/opt/a"}]}`:    "guest \"/opt/a\" would cover that of binds.json:1",
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
		got, err := parseBinds(text)
		if err == nil {
			t.Errorf("%s was parsed as %+v", text, got)
		} else if !strings.Contains(err.Error(), reason) || !strings.HasPrefix(err.Error(), "binds.json") {
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

// Both files say what is mounted, in the order of their names here.
func TestReadWorkspace(t *testing.T) {
	root := write(t, `{"binds":[{"host":"data","guest":"/opt/a"}]}`)
	s, err := ReadWorkspace(root, home, calls)
	if err != nil || len(s.Mounts) != 1 || s.Mounts[0].Host != "data" || s.Content == "" {
		t.Errorf("binds alone: %+v, %v", s, err)
	}
	const settings = `{"mounts": [{"path": "other", "guest": "/opt/b"}]}`
	if err := os.WriteFile(filepath.Join(root.Name(), SandboxFile), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	both, err := ReadWorkspace(root, home, calls)
	if err != nil || len(both.Mounts) != 2 || both.Mounts[0].Guest != "/opt/a" || both.Mounts[1].Guest != "/opt/b" || both.Content == s.Content {
		t.Errorf("both: %+v, %v", both, err)
	}
	if err := os.Rename(filepath.Join(root.Name(), SandboxFile), filepath.Join(root.Name(), BindsFile)); err != nil {
		t.Fatal(err)
	}
	if s, err := ReadWorkspace(root, home, calls); err == nil {
		t.Errorf("settings in the place of binds: %+v", s)
	}
}

// An empty list is not the same as none.
func TestReadWorkspaceEmptyBinds(t *testing.T) {
	if s, err := ReadWorkspace(write(t, `{"binds":[]}`), home, calls); err != nil || s.Mounts == nil || len(s.Mounts) != 0 {
		t.Errorf("read %+v, %v", s, err)
	}
}

func TestReadWorkspaceWithoutFiles(t *testing.T) {
	root, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if s, err := ReadWorkspace(root, home, calls); err != nil || s.Mounts != nil || s.Content != "" {
		t.Errorf("read %+v, %v", s, err)
	}
}

func TestReadWorkspaceFollowsNoLink(t *testing.T) {
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
		if s, err := ReadWorkspace(root, home, calls); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s is a link: read %+v, %v", path, s, err)
		}
		root.Close()
	}
}

func TestReadWorkspaceWaitsForNoPipe(t *testing.T) {
	root := write(t, "")
	path := filepath.Join(root.Name(), BindsFile)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadWorkspace(root, home, calls); err == nil || !strings.Contains(err.Error(), "not a regular file") {
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
	for host, ok := range map[string]bool{"real": true, ".": true, "inner": false, "absolute": false, "up": false, "..": false, outside: true, filepath.Join(dir, "inner"): false} {
		fd, err := OpenHost(root, host)
		if (err == nil) != ok {
			t.Errorf("%s: %v, want success: %v", host, err, ok)
		}
		if err == nil {
			unix.Close(fd)
		}
	}
}

func FuzzBinds(f *testing.F) {
	f.Add(`{"binds": [{"host": "/a", "guest": "/opt/b", "readonly": true}]}`)
	f.Add(`{"binds": [{"host": "a", "guest": "/home/agent/x"}, {}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		mounts, err := parseBinds(text)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, m := range mounts {
			if !filepath.IsAbs(m.Guest) || m.Guest != filepath.Clean(m.Guest) || seen[m.Guest] {
				t.Errorf("%s: guest %q", text, m.Guest)
			}
			seen[m.Guest] = true
			if !filepath.IsAbs(m.Host) && !filepath.IsLocal(m.Host) {
				t.Errorf("%s: host %q", text, m.Host)
			}
			for _, dir := range []string{home, workspace, "/etc/passwd", "/tmp"} {
				if paths.Within(dir, m.Guest) {
					t.Errorf("%s: guest %q covers %s", text, m.Guest, dir)
				}
			}
		}
	})
}
