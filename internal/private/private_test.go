package private

import "testing"

func TestOf(t *testing.T) {
	for path, want := range map[string][2]string{ // Of, Login
		".ssh":                         {".ssh", ".ssh"},
		"/home/x/.ssh/id":              {"/home/x/.ssh", "/home/x/.ssh"},
		".config":                      {"", ""},
		".config/gh/hosts.yml":         {".config/gh", ".config/gh"},
		"/old/home/.config/gh":         {"/old/home/.config/gh", "/old/home/.config/gh"},
		"/srv/gh":                      {"", ""},
		"notes.ssh":                    {"", ""},
		".agent/auth.json":             {"", ".agent/auth.json"},
		".agent/auth.json/x":           {"", ".agent/auth.json"},
		".cargo/credentials.toml":      {".cargo/credentials.toml", ".cargo/credentials.toml"},
		".cargo/registry/credentials/": {"", ".cargo/registry/credentials"},
		"a/../.netrc":                  {".netrc", ".netrc"},
		"../.netrc":                    {"../.netrc", "../.netrc"},
		"/":                            {"", ""},
		".":                            {"", ""},
		"":                             {"", ""},
	} {
		if got := [2]string{Of(path), Login(path)}; got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
