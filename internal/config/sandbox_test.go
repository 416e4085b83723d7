package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/cli"
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
		`{"path": "host"}`:           `path "host"`,
		`{"env": ["A", "B"]}`:        `env "A"; env "B"`,
		`{"hide": ["~/x", "*.pem"]}`: `hide "/home/me/x"; hide "/ws/*.pem"`,
		`{"allow": ["perf"]}`:        `allow "perf"`,
		`{"mounts": [{"path": "~/go"}, {"path": "d/e", "mode": "rw", "guest": "/d"}]}`:                                                                  `mounts "/home/me/go" ro "/home/me/go"; mounts "d/e" rw "/d"`,
		`{"limits": {"memory": "1536M", "processes": 7, "cpu_time": "90s", "files": 64, "file_size": 1000, "time": "1h", "database": "2G", "kept": 1}}`: `limits.cpu_time "1m30s"; limits.database "2G"; limits.file_size 1000; limits.files 64; limits.kept 1; limits.memory "1536M"; limits.processes 7; limits.time "1h0m0s"`,
		`{"network": "none", "env": ["A"], "enabled": false}`:                                                                                           ``,
	} {
		s, err := workspaceSource("/ws").read([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := shown(t, s); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	s, err := userSource().read([]byte(`{"workspace": "~/w"}`))
	if err != nil || s.Workspace.Value != "/home/me/w" {
		t.Errorf("the user's own key: %+v, %v", s, err)
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
		`{"mounts": [{"path": "/x", "readOnly": true}]}`: `unknown key "readOnly"`,
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
		`{"trust": ["/"]}`:                               `the key "trust" is no more`,
		`{"env": ["ART_DB"]}`:                            `ART_DB is a variable of art's own`,
		`{"workspace": "x"}`:                             `can only be set in the user's file`,
	} {
		s, err := workspaceSource("/ws").read([]byte(text))
		if err == nil {
			t.Errorf("%s was taken: %s", text, shown(t, s))
		} else if !strings.Contains(err.Error(), reason) || !strings.HasPrefix(err.Error(), "ws.json:") {
			t.Errorf("%s: %v, want %s", text, err, reason)
		}
	}
	for _, text := range []string{`{"trust": ["/ws"]}`, `{"enabled": false, "trust": []}`} {
		var h cli.Hinted
		if _, err := userSource().read([]byte(text)); !errors.As(err, &h) || !strings.Contains(h.Hint(), "art trust") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := userSource().read([]byte(`{"hide": ["x"]}`)); err == nil || !strings.Contains(err.Error(), "not an absolute path") {
		t.Errorf("a relative path in the user's file: %v", err)
	}
}

func TestMerged(t *testing.T) {
	for _, test := range []struct{ user, workspace, want, widens, without string }{
		{``, ``, ``, ``, ``},
		{`"network": "none"`, ``, `network "none"`, ``, ``},
		{``, `"network": "none"`, `network "none"`, ``, ``},
		{`"network": "host"`, `"network": "none"`, `network "none"`, ``, ``},
		{`"network": "none"`, `"network": "host"`, `network "host"`, `"network": "host"`, `network "none"`},
		{``, `"network": {"ask": true}`, `network "names"; network.ask "true"`, ``, ``},
		{`"network": "none"`, `"network": {"ask": true}`, `network "names"; network.ask "true"`, `"network": {"ask": true}`, `network "none"`},
		{`"network": {"allow": ["a.b", "c.d"]}`, `"network": {"deny": ["c.d"], "ask": true}`, `network "names"; network.allow "a.b"; network.deny "c.d"; network.ask "true"`, `"network": {"ask": true}`, `network "names"; network.allow "a.b"; network.deny "c.d"`},
		{`"network": {"allow": ["a.b"], "ask": true}`, `"network": {"ask": true}`, `network "names"; network.allow "a.b"; network.ask "true"`, ``, ``},
		{`"env": ["A", "B"]`, ``, `env "A"; env "B"`, ``, ``},
		{`"env": ["A", "B"]`, `"env": ["B"]`, `env "B"`, ``, ``},
		{`"env": ["A"]`, `"env": []`, ``, ``, ``},
		{`"env": ["A"]`, `"env": ["B", "A"]`, `env "B"; env "A"`, `"env": ["B"]`, `env "A"`},
		{``, `"allow": ["perf"]`, `allow "perf"`, `"allow": ["perf"]`, ``},
		{`"allow": ["perf"]`, `"allow": ["perf"]`, `allow "perf"`, ``, ``},
		{`"hide": ["/a"]`, `"hide": ["/b"]`, `hide "/a"; hide "/b"`, ``, ``},
		{`"limits": {"files": 9, "memory": 9}`, `"limits": {"files": 10, "memory": 8, "processes": 8}`, `limits.files 9; limits.memory 8; limits.processes 8`, ``, ``},
		{``, `"mounts": [{"path": "/m/x"}]`, `mounts "/m/x" ro "/m/x"`, `the mount of /m/x`, ``},
		{`"mounts": [{"path": "/m"}]`, `"mounts": [{"path": "/m/x"}]`, `mounts "/m/x" ro "/m/x"`, ``, ``},
		{`"mounts": [{"path": "/m"}]`, `"mounts": [{"path": "/mm"}, {"path": "/m"}]`, `mounts "/mm" ro "/mm"; mounts "/m" ro "/m"`, `the mount of /mm`, `mounts "/m" ro "/m"`},
		{`"mounts": [{"path": "/m"}]`, `"mounts": [{"path": "/m/x", "mode": "rw"}]`, `mounts "/m/x" rw "/m/x"`, `the mount of /m/x, writable,`, ``},
		{`"mounts": [{"path": "/m", "mode": "rw"}]`, `"mounts": [{"path": "/m", "mode": "rw"}]`, `mounts "/m" rw "/m"`, ``, ``},
		{``, `"mounts": [{"path": "in", "guest": "/g"}]`, `mounts "in" ro "/g"`, ``, ``},
		{``, `"mounts": [{"path": "in", "guest": "/home/agent/in"}]`, `mounts "in" ro "/home/agent/in"`, ``, ``},
		{``, `"mounts": [{"path": "in", "guest": "/usr/bin/x"}]`, `mounts "in" ro "/usr/bin/x"`, `the mount of /ws/in at /usr/bin/x`, ``},
		{``, `"mounts": [{"path": "in", "guest": "/home/agent/.x"}]`, `mounts "in" ro "/home/agent/.x"`, `the mount of /ws/in at /home/agent/.x`, ``},
		{`"mounts": [{"path": "/usr/x"}]`, `"mounts": [{"path": "/usr/x/y"}]`, `mounts "/usr/x/y" ro "/usr/x/y"`, ``, ``},
		{`"mounts": [{"path": "/m"}]`, `"mounts": [{"path": "/m", "guest": "/usr/x"}]`, `mounts "/m" ro "/usr/x"`, `the mount of /m at /usr/x`, ``},
		{``, `"mounts": [{"path": "/ws/in", "guest": "/g"}]`, `mounts "/ws/in" ro "/g"`, ``, ``},
		{``, `"mounts": [{"path": "in", "guest": "/g", "mode": "rw"}]`, `mounts "in" rw "/g"`, `the mount of /ws/in, writable,`, ``},
	} {
		user, err := userSource().read([]byte("{" + test.user + "}"))
		if err != nil {
			t.Fatal(err)
		}
		workspace, err := workspaceSource("/ws").read([]byte("{" + test.workspace + "}"))
		if err != nil {
			t.Fatal(err)
		}
		for _, trusted := range []bool{true, false} {
			want := test.want
			if test.widens != "" && !trusted {
				want = test.without
			}
			merged, asks, err := Merge(user, workspace, "/ws", trusted)
			if err != nil {
				t.Errorf("%s with %s: %v", test.user, test.workspace, err)
				continue
			}
			if got := shown(t, merged); got != want {
				t.Errorf("%s with %s, trusted %v: %s, want %s", test.user, test.workspace, trusted, got, want)
			}
			if test.widens == "" && asks != nil || test.widens != "" && (len(asks) != 1 || asks[0].What != test.widens) {
				t.Errorf("%s with %s asks for %+v, want %s", test.user, test.workspace, asks, test.widens)
			}
		}
	}
}

// The variables that decide what runs are known, whatever their case, and common ones of
// programs' own are not among them.
func TestSteers(t *testing.T) {
	for name, want := range map[string]bool{
		"PATH": true, "LD_PRELOAD": true, "BASH_ENV": true, "NODE_OPTIONS": true, "PYTHONSTARTUP": true, "http_proxy": true, "HTTPS_PROXY": true,
		"ANTHROPIC_BASE_URL": true, "npm_config_registry": true, "GIT_SSH_COMMAND": true, "CLAUDE_CONFIG_DIR": true, "MANPAGER": true,
		"VOLTA_HOME": true, "FNM_DIR": true, "SDKMAN_DIR": true, "GHCUP_INSTALL_BASE_PREFIX": true, "PIPX_HOME": true, "OPENCODE_CONFIG_CONTENT": true,
		"GEMINI_CLI_SYSTEM_SETTINGS_PATH": true, "AIDER_TEST_CMD": true, "ANTHROPIC_CUSTOM_HEADERS": true, "SANDBOX": true, "ESBUILD_BINARY_PATH": true,
		"TOKEN": false, "API_KEY": false, "DATABASE_URL": false, "DB_HOST": false, "NODE_ENV": false, "PLAIN": false, "DEBUG": false, "TZ": false, "MY_PATHS": false,
	} {
		if got := steers(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	workspace := &Settings{Values: []Value{{"PATH", "/x", "e:1", false}, {"A", "1", "e:2", false}}}
	for name, want := range map[string]bool{".codex": true, "go": true, "bin": true, "node_modules": true, "gopher": false, "project": false} {
		if got := AskPlace(name, "/ws") != nil; got != want {
			t.Errorf("a workspace called %s asks: %v", name, got)
		}
	}
	for _, trusted := range []bool{true, false} {
		merged, asks, err := Merge(&Settings{Values: []Value{{"PATH", "/mine", "u:1", false}}}, workspace, "/ws", trusted)
		if err != nil || len(asks) != 1 || asks[0].What != "the variable PATH" || len(merged.Values) != map[bool]int{true: 3, false: 2}[trusted] {
			t.Errorf("%v: %+v, %+v, %v", trusted, merged, asks, err)
		}
	}
}

// A workspace's .env does not take the place of a variable that the user's settings name.
func TestWorkspaceReplacesNoVariable(t *testing.T) {
	workspace := &Settings{Values: []Value{{"KEY", "theirs", "e:1", false}, {"TOKEN", "theirs", "e:2", false}, {"OTHER", "theirs", "e:3", false}}}
	user := &Settings{Values: []Value{{"KEY", "mine", "u:1", false}}, Env: []Entry{{"TOKEN", "u:2"}}}
	merged, asks, err := Merge(user, workspace, "/ws", false)
	if err != nil || len(asks) != 2 || asks[0].What != "the variable KEY" || asks[1].What != "the variable TOKEN" {
		t.Fatalf("%+v, %v", asks, err)
	}
	if len(merged.Values) != 2 || merged.Values[0].Value != "mine" || merged.Values[1].Name != "OTHER" {
		t.Errorf("the variables are %+v", merged.Values)
	}
}

// A mount is what its path leads to, not what it says.
func TestMergeResolvesLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "ws/in"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"usr": "/usr", "to": "ws", "ws/out": "/usr", "ws/again": "in", "elsewhere": "ws/in"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	user := &Settings{Mounts: []Mount{{Host: dir, ReadOnly: true}}}
	for path, want := range map[string]string{
		dir + "/usr/lib": "!/usr/lib", "again": "in", dir + "/to/again": "in", dir + "/ws/again": "in", dir + "/elsewhere": "in",
		"out": "", dir + "/to/out": "", dir + "/ws/out/bin": "",
	} {
		merged, asks, err := Merge(user, &Settings{Mounts: []Mount{{Host: path, Guest: "/x", ReadOnly: true}}}, dir+"/to", true)
		got := ""
		if err == nil {
			got = merged.Mounts[0].Host
		}
		if len(asks) > 0 {
			got = "!" + got
		}
		if got != want {
			t.Errorf("%s: %s, %v, want %s", path, got, err, want)
		}
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
