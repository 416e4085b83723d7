package registries

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// pypi are the index of Python's packages and the host of its files, for each index that has another one for these
// (https://pip.pypa.io/en/stable/cli/pip_install/#cmdoption-i, https://docs.pypi.org/api/index-api).
var pypi = map[string]string{"pypi.org:443": "files.pythonhosted.org", "test.pypi.org:443": "test-files.pythonhosted.org"}

// python reads what pip and uv do (https://pip.pypa.io/en/stable/topics/configuration,
// https://docs.astral.sh/uv/concepts/configuration-files), but a project's file. Their default counts where neither has another index in
// its place.
func python(u *User) (*found, error) {
	f := &found{}
	indexes, replaced, err := u.pip(f)
	if err != nil {
		return nil, err
	}
	more, also, err := u.uv()
	if err != nil {
		return nil, err
	}
	for _, s := range append(indexes, more...) {
		if err := f.add(s); err != nil {
			return nil, err
		}
	}
	if !replaced && !also {
		f.byDefault("pypi.org")
	}
	for _, p := range f.places {
		if host, ok := pypi[p.Rule]; ok {
			f.places = append(f.places, Place{Rule: host + ":443", From: p.From})
		}
	}
	return f, nil
}

// pip returns the indexes of pip, and whether one is in the place of its default.
func (u *User) pip(f *found) (indexes []said, replaced bool, err error) {
	values := map[string]said{} // those of a later file count more
	files := []string{u.system("/etc/xdg/pip/pip.conf"), u.system("/etc/pip.conf")}
	if u.Home != "" {
		files = append(files, filepath.Join(u.Home, ".pip/pip.conf"))
	}
	if dir := u.directory("XDG_CONFIG_HOME", ".config"); dir != "" {
		files = append(files, filepath.Join(dir, "pip/pip.conf"))
	}
	if s, ok := u.env("PIP_CONFIG_FILE"); ok {
		files = append(files, s.text)
		if s.text == "/dev/null" {
			files = nil
		}
	}
	for _, file := range files {
		text, err := u.read(file)
		if err != nil {
			return nil, false, err
		}
		if err := pipConf(file, text, values); err != nil {
			return nil, false, err
		}
	}
	for _, key := range []string{"index-url", "extra-index-url", "find-links", "no-index", "proxy"} {
		if s, ok := u.env("PIP_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))); ok {
			values["global."+key] = s
		}
	}
	none := false
	for at, s := range values {
		switch _, key, _ := strings.Cut(at, "."); key {
		case "no-index":
			none = none || strings.HasPrefix(at, "global.") && yes(s.text)
		case "index-url":
			replaced = replaced || strings.HasPrefix(at, "global.")
			fallthrough
		case "extra-index-url", "find-links":
			for _, text := range strings.Fields(s.text) {
				if key != "find-links" || strings.Contains(text, "://") {
					indexes = append(indexes, said{text, s.from, s.line})
				}
			}
		case "proxy":
			f.proxy(s)
		}
	}
	if none {
		return nil, true, nil
	}
	return indexes, replaced, nil
}

func yes(text string) bool {
	switch strings.ToLower(text) {
	case "1", "y", "yes", "t", "true", "on":
		return true
	}
	return false
}

// pipConf reads a file of pip's, as Python's configparser does: values go on in lines that begin with a blank.
func pipConf(file, text string, values map[string]said) error {
	section, last, open := "", "", false
	return lines(text, func(n int, line string) error {
		bare := strings.TrimSpace(line)
		switch {
		case bare == "", bare[0] == '#', bare[0] == ';':
			return nil
		case line[0] == ' ' || line[0] == '\t':
			if !open {
				return fmt.Errorf("%s:%d: it goes on with nothing", file, n)
			}
			s := values[last]
			s.text += "\n" + bare
			values[last] = s
			return nil
		case bare[0] == '[':
			name, _, ok := strings.Cut(bare[1:], "]")
			if !ok {
				return fmt.Errorf("%s:%d: the section has no end", file, n)
			}
			section, open = name, false
			return nil
		}
		at := strings.IndexAny(bare, "=:")
		if at < 0 || section == "" {
			return fmt.Errorf("%s:%d: it is no setting", file, n)
		}
		key := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(bare[:at])), "_", "-")
		last, open = section+"."+strings.TrimPrefix(key, "--"), true
		values[last] = said{strings.TrimSpace(bare[at+1:]), file, n}
		return nil
	})
}

// uv returns the indexes of uv, and whether one is in the place of its default.
func (u *User) uv() (indexes []said, replaced bool, err error) {
	files := []string{u.system("/etc/uv/uv.toml"), u.system("/etc/xdg/uv/uv.toml")}
	if dir := u.directory("XDG_CONFIG_HOME", ".config"); dir != "" {
		files = append(files, filepath.Join(dir, "uv/uv.toml"))
	}
	if s, ok := u.env("UV_CONFIG_FILE"); ok {
		files = []string{s.text}
	}
	for _, file := range files {
		text, err := u.read(file)
		if err != nil {
			return nil, false, err
		}
		t, err := readTOML(text)
		if err != nil {
			return nil, false, fmt.Errorf("%s:%w", file, err)
		}
		tables := []table{t}
		if pip, ok := t["pip"].(table); ok {
			tables = append(tables, pip)
		}
		for _, t := range tables {
			if url, ok := t["index-url"].(string); ok {
				indexes, replaced = append(indexes, said{text: url, from: file}), true
			}
			for _, url := range texts(t["extra-index-url"]) {
				indexes = append(indexes, said{text: url, from: file})
			}
		}
		list, _ := t["index"].([]any)
		for _, item := range list {
			index, _ := item.(table)
			url, ok := index["url"].(string)
			if !ok {
				return nil, false, fmt.Errorf("%s: %w", file, errors.New("an index has no url"))
			}
			indexes = append(indexes, said{text: url, from: file})
			replaced = replaced || index["default"] == true
		}
	}
	for _, name := range []string{"UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"} {
		s, ok := u.env(name)
		if !ok {
			continue
		}
		for _, text := range strings.Fields(s.text) {
			if before, url, ok := strings.Cut(text, "="); ok && !strings.Contains(before, "/") { // NAME=URL
				text = url
			}
			indexes = append(indexes, said{text: text, from: s.from})
		}
		replaced = replaced || name == "UV_DEFAULT_INDEX" || name == "UV_INDEX_URL"
	}
	return indexes, replaced, nil
}
