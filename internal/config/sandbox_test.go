package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var calls = []string{"namespaces", "perf"}

func workspaceSource(dir string) *source {
	return &source{name: "ws.json", dir: dir, home: "/home/me", allowed: calls}
}

func userSource() *source {
	return &source{name: "user.json", home: "/home/me", user: true, allowed: calls}
}

// shown is what the settings say, without where.
func shown(t *testing.T, s *Settings) string {
	t.Helper()
	var b strings.Builder
	if err := s.Show(&b); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		fields := strings.Fields(line)
		if fields[len(fields)-1] != Default && fields[1] != `""` {
			lines = append(lines, strings.Join(fields[:len(fields)-1], " "))
		}
	}
	return strings.Join(lines, "; ")
}

func TestAccepted(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                         ``,
		`{"enabled": true}`:          ``,
		`{"$schema": "x"}`:           ``,
		`{"network": "none"}`:        `network "none"`,
		`{"env": ["A", "B"]}`:        `env "A"; env "B"`,
		`{"hide": ["~/x", "*.pem"]}`: `hide "/home/me/x"; hide "/ws/*.pem"`,
		`{"allow": ["perf"]}`:        `allow "perf"`,
		`{"mounts": [{"path": "~/go"}, {"path": "d/e", "mode": "rw", "guest": "/d"}]}`:                                                       `mounts "/home/me/go" ro "/home/me/go"; mounts "/ws/d/e" rw "/d"`,
		`{"limits": {"memory": "1536M", "processes": 7, "cpu_time": "90s", "files": 64, "file_size": 1000, "time": "1h", "database": "2G"}}`: `limits.cpu_time "1m30s"; limits.database "2G"; limits.file_size 1000; limits.files 64; limits.memory "1536M"; limits.processes 7; limits.time "1h0m0s"`,
		`{"network": "none", "env": ["A"], "enabled": false}`:                                                                                ``,
	} {
		s, err := workspaceSource("/ws").read([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := shown(t, s); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	s, err := userSource().read([]byte(`{"workspace": "~/w", "trust": ["~/own"]}`))
	if err != nil || s.Workspace.Value != "/home/me/w" || s.Trust[0] != (Entry{"/home/me/own", "user.json:1"}) {
		t.Errorf("the user's own keys: %+v, %v", s, err)
	}
}

func TestRefused(t *testing.T) {
	for text, reason := range map[string]string{
		``:                                       `ws.json:1: unexpected end`,
		"{\n\"env\": [],\n}":                     `ws.json:3: invalid character`,
		`{} {}`:                                  `ws.json:1: invalid character`,
		`[]`:                                     `a list stands where an object is expected`,
		`null`:                                   `null stands where an object is expected`,
		"{\n\n\"netwrok\": \"none\"}":            `ws.json:3: unknown key "netwrok": did you mean "network"?`,
		`{"Network": "none"}`:                    `unknown key "Network": did you mean "network"?`,
		`{"network": "nonee"}`:                   `unknown value "nonee": did you mean "none"?`,
		`{"network": "None"}`:                    `did you mean "none"?`,
		`{"network": null}`:                      `null stands where a string is expected`,
		`{"network": "none", "network": "host"}`: `the key "network" comes twice`,
		`{"enabled": "false"}`:                   `a string stands where true or false is expected`,
		`{"env": "A"}`:                           `a string stands where a list is expected`,
		`{"env": ["A=1"]}`:                       `"A=1" is not a variable's name`,
		`{"env": [""]}`:                          `is empty`,
		`{"hide": ["[a"]}`:                       `is not a pattern`,
		`{"hide": ["../x"]}`:                     `leads out of the workspace`,
		`{"hide": ["~you/x"]}`:                   `other user's home`,
		`{"hide": ["a\u0000b"]}`:                 `NUL`,
		`{"allow": ["namespace"]}`:               `did you mean "namespaces"?`,
		`{"mounts": [{"mode": "ro"}]}`:           `the key "path" is missing`,
		`{"mounts": [{"path": "/x", "mode": "r"}]}`:      `did you mean "ro"?`,
		`{"mounts": [{"path": "/x", "readonly": true}]}`: `unknown key "readonly"`,
		`{"mounts": [{"path": "/x", "guest": "y"}]}`:     `not an absolute path`,
		`{"limits": {"memmory": 1}}`:                     `did you mean "memory"?`,
		`{"limits": {"memory": "1X"}}`:                   `"1X" is not a limit`,
		`{"limits": {"memory": ""}}`:                     `is not a limit`,
		`{"limits": {"memory": 0}}`:                      `0 is not a limit`,
		`{"limits": {"memory": -1}}`:                     `-1 is not a limit`,
		`{"limits": {"memory": 1.5}}`:                    `1.5 is not a limit`,
		`{"limits": {"memory": "99999999999T"}}`:         `is not a limit`,
		`{"limits": {"processes": "7"}}`:                 `"7" is not a limit`,
		`{"limits": {"time": 60}}`:                       `60 is not a limit`,
		`{"limits": {"time": "0s"}}`:                     `is not a limit`,
		`{"limits": {"files": true}}`:                    `a boolean is not a limit`,
		`{"trust": ["/"]}`:                               `can only be set in the user's file`,
		`{"workspace": "x"}`:                             `can only be set in the user's file`,
	} {
		s, err := workspaceSource("/ws").read([]byte(text))
		if err == nil {
			t.Errorf("%s was taken: %s", text, shown(t, s))
		} else if !strings.Contains(err.Error(), reason) || !strings.HasPrefix(err.Error(), "ws.json:") {
			t.Errorf("%s: %v, want %s", text, err, reason)
		}
	}
	if _, err := userSource().read([]byte(`{"hide": ["x"]}`)); err == nil || !strings.Contains(err.Error(), "not an absolute path") {
		t.Errorf("a relative path in the user's file: %v", err)
	}
}

func TestMerged(t *testing.T) {
	const trust = `"trust": ["/ws"], `
	for _, test := range []struct{ user, workspace, want, widens string }{
		{``, ``, ``, ``},
		{`"network": "none"`, ``, `network "none"`, ``},
		{``, `"network": "none"`, `network "none"`, ``},
		{`"network": "host"`, `"network": "none"`, `network "none"`, ``},
		{`"network": "none"`, `"network": "host"`, `network "host"`, `"network": "host"`},
		{`"env": ["A", "B"]`, ``, `env "A"; env "B"`, ``},
		{`"env": ["A", "B"]`, `"env": ["B"]`, `env "B"`, ``},
		{`"env": ["A"]`, `"env": []`, ``, ``},
		{`"env": ["A"]`, `"env": ["B"]`, `env "B"`, `"env": ["B"]`},
		{``, `"allow": ["perf"]`, `allow "perf"`, `"allow": ["perf"]`},
		{`"allow": ["perf"]`, `"allow": ["perf"]`, `allow "perf"`, ``},
		{`"hide": ["/a"]`, `"hide": ["/b"]`, `hide "/a"; hide "/b"`, ``},
		{`"limits": {"files": 9, "memory": 9}`, `"limits": {"files": 8, "processes": 8}`, `limits.files 8; limits.memory 9; limits.processes 8`, ``},
		{``, `"mounts": [{"path": "/m/x"}]`, `mounts "/m/x" ro "/m/x"`, `/m/x`},
		{`"mounts": [{"path": "/m"}]`, `"mounts": [{"path": "/m/x"}]`, `mounts "/m/x" ro "/m/x"`, ``},
		{`"mounts": [{"path": "/m"}]`, `"mounts": [{"path": "/mm"}]`, `mounts "/mm" ro "/mm"`, `/mm`},
		{`"mounts": [{"path": "/m"}]`, `"mounts": [{"path": "/m/x", "mode": "rw"}]`, `mounts "/m/x" rw "/m/x"`, `/m/x`},
		{`"mounts": [{"path": "/m", "mode": "rw"}]`, `"mounts": [{"path": "/m", "mode": "rw"}]`, `mounts "/m" rw "/m"`, ``},
		{``, `"mounts": [{"path": "in", "guest": "/g"}]`, `mounts "/ws/in" ro "/g"`, ``},
		{``, `"mounts": [{"path": "in", "guest": "/g", "mode": "rw"}]`, `mounts "/ws/in" rw "/g"`, `/ws/in`},
	} {
		for _, prefix := range []string{"", trust} {
			user, err := userSource().read([]byte("{" + strings.TrimSuffix(prefix+test.user, ", ") + "}"))
			if err != nil {
				t.Fatal(err)
			}
			workspace, err := workspaceSource("/ws").read([]byte("{" + test.workspace + "}"))
			if err != nil {
				t.Fatal(err)
			}
			merged, err := Merge(user, workspace, "/ws", "user.json")
			if test.widens != "" && prefix == "" {
				if err == nil || !strings.Contains(err.Error(), test.widens+" allows more") {
					t.Errorf("%s with %s: %v, want %s", test.user, test.workspace, err, test.widens)
				}
				continue
			}
			if got := shown(t, merged); err != nil || got != test.want {
				t.Errorf("%s with %s: %s, %v, want %s", test.user, test.workspace, got, err, test.want)
			}
		}
	}
}

// A workspace that a link leads to is not the one that is trusted, nor is a mount
// what its path says.
func TestMergeResolvesLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "/etc", "usr": "/usr"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	user := &Settings{Mounts: []Mount{{Bind: Bind{Host: dir, ReadOnly: true}}}, Trust: []Entry{{Value: dir}, {Value: "/"}}}
	workspace := &Settings{Mounts: []Mount{{Bind: Bind{Host: dir + "/usr/lib", Guest: "/x", ReadOnly: true}}}}
	if _, err := Merge(user, workspace, dir+"/link", ""); err == nil {
		t.Error("a link leads out of the user's mounts and of what is trusted")
	}
}

func TestUserFile(t *testing.T) {
	for _, test := range []struct{ xdg, home, want string }{
		{"/x", "/h", "/x/art/sandbox.json"}, {"", "/h", "/h/.config/art/sandbox.json"},
		{"relative", "/h", "/h/.config/art/sandbox.json"}, {"", "", ""},
	} {
		env := map[string]string{"XDG_CONFIG_HOME": test.xdg, "HOME": test.home}
		if got := UserFile(func(name string) string { return env[name] }); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// Whatever is read without an error is what one reads off it, and reads the same
// again with one more unknown key refused.
func FuzzSettings(f *testing.F) {
	f.Add(`{"network": "none", "env": ["A"], "limits": {"memory": "1G"}}`)
	f.Add(`{"mounts": [{"path": "~/x", "mode": "rw"}], "hide": ["*"], "enabled": true}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := workspaceSource("/ws").read([]byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "ws.json:") {
				t.Errorf("%q: %v does not say where", text, err)
			}
			return
		}
		if s.Network.Value != "" && !strings.Contains(text, "network") && !strings.Contains(text, `\u`) {
			t.Errorf("%q sets the network", text)
		}
		closed := strings.TrimRight(text, " \t\r\n")
		more := strings.TrimSuffix(closed, "}") + `, "typo": 1}`
		if _, err := workspaceSource("/ws").read([]byte(more)); err == nil {
			t.Errorf("%q was taken with an unknown key", more)
		}
	})
}
