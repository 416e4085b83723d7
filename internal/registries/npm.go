package registries

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// npmDefault is the registry of npm (https://docs.npmjs.com/cli/using-npm/config#registry).
const npmDefault = "registry.npmjs.org"

// npm reads what npm does (https://docs.npmjs.com/cli/configuring-npm/npmrc), but a project's file: the registry that the first says, and
// those of scopes.
func npm(u *User) (*found, error) {
	f := &found{}
	values := map[string]said{} // the first that says one counts
	keep := func(key string, s said) {
		if _, ok := values[key]; !ok && s.text != "" {
			values[key] = s
		}
	}
	for _, kv := range u.Environ {
		name, text, _ := strings.Cut(kv, "=")
		if key, ok := strings.CutPrefix(strings.ToLower(name), "npm_config_"); ok {
			keep(strings.ReplaceAll(key, "_", "-"), said{text: text, from: "$" + name})
		}
	}
	user := ""
	if u.Home != "" {
		user = filepath.Join(u.Home, ".npmrc")
	}
	files := []string{user, u.system("/etc/npmrc"), u.system("/usr/local/etc/npmrc"), u.system("/usr/etc/npmrc")}
	if s, ok := values["userconfig"]; ok {
		files[0] = s.text
	}
	if s, ok := values["globalconfig"]; ok {
		files = []string{files[0], s.text}
	}
	for _, file := range files {
		text, err := u.read(file)
		if err != nil {
			return nil, err
		}
		if err := u.npmrc(file, text, keep); err != nil {
			return nil, err
		}
	}
	for key, s := range values {
		switch {
		case npmRegistry(key):
			if err := f.add(s); err != nil {
				return nil, err
			}
		case npmProxy(key):
			if s.text != "null" && s.text != "false" {
				f.proxy(s)
			}
		}
	}
	slices.SortFunc(f.places, func(a, b Place) int { return strings.Compare(a.Rule, b.Rule) })
	if _, ok := values["registry"]; !ok {
		f.byDefault(npmDefault)
	}
	return f, nil
}

// npmRegistry says whether a setting is a registry: the one of all packages, or of a scope. That of a password for one,
// //registry.npmjs.org/:_authToken, is not.
func npmRegistry(key string) bool {
	return key == "registry" || strings.HasPrefix(key, "@") && strings.HasSuffix(key, ":registry")
}

func npmProxy(key string) bool { return key == "proxy" || key == "https-proxy" || key == "http-proxy" }

// npmrc reads a file of npm's.
func (u *User) npmrc(file, text string, keep func(string, said)) error {
	section := false
	return lines(text, func(n int, line string) error {
		line = strings.TrimSpace(line)
		switch {
		case line == "", line[0] == ';', line[0] == '#':
			return nil
		case line[0] == '[':
			section = true // nothing in one is a setting of npm's
			return nil
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || section || key == "" {
			return nil
		}
		if value != "" && value[0] == '"' {
			var unquoted string
			if json.Unmarshal([]byte(value), &unquoted) == nil {
				value = unquoted
			}
		} else if len(value) > 1 && value[0] == '\'' && value[len(value)-1] == '\'' {
			value = value[1 : len(value)-1]
		}
		value, err := u.npmExpand(value)
		if err != nil {
			if npmRegistry(key) || npmProxy(key) {
				return fmt.Errorf("%s:%d: %w", file, n, err)
			}
			return nil
		}
		keep(key, said{value, file, n})
		return nil
	})
}

// npmExpand puts variables in the place of ${NAME}, and ${NAME?}, which may be unset.
func (u *User) npmExpand(value string) (string, error) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(value, "${")
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		name, after, ok := strings.Cut(rest, "}")
		name, optional := strings.CutSuffix(name, "?")
		text := u.Getenv(name)
		if !ok || text == "" && !optional {
			return "", fmt.Errorf("the variable %.40q is not set", name)
		}
		b.WriteString(text)
		value = after
	}
}
