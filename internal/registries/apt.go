package registries

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxAptFiles is how many files of sources there can be.
const maxAptFiles = 500

// apt reads what apt does (sources.list(5)): files with a source a line, and those of Debian's control format. It has no default.
func apt(u *User) (*found, error) {
	f := &found{}
	files, err := u.aptFiles("/etc/apt/sources.list", ".list", ".sources")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := u.read(file)
		if err != nil {
			return nil, err
		}
		addresses := aptLines
		if strings.HasSuffix(file, ".sources") {
			addresses = aptStanzas
		}
		list, err := addresses(file, text)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if err := u.aptSource(f, s); err != nil {
				return nil, err
			}
		}
	}
	return f, u.aptProxies(f)
}

// aptFiles returns a file and those of the directory beside it that apt reads.
func (u *User) aptFiles(file string, endings ...string) ([]string, error) {
	files := []string{u.system(file)}
	entries, err := os.ReadDir(u.system(file + ".d"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, e := range entries {
		ending := filepath.Ext(e.Name())
		for _, wanted := range endings {
			if ending == wanted && !strings.HasPrefix(e.Name(), ".") {
				files = append(files, filepath.Join(u.system(file+".d"), e.Name()))
			}
		}
	}
	if len(files) > maxAptFiles {
		return nil, fmt.Errorf("%s.d: it has more than %d files", u.system(file), maxAptFiles)
	}
	return files, nil
}

// aptSource adds what one source leads to: with mirror+file:, what is in that file.
func (u *User) aptSource(f *found, s said) error {
	file, ok := strings.CutPrefix(s.text, "mirror+file:")
	if !ok {
		return f.add(s)
	}
	file = "/" + strings.TrimLeft(file, "/")
	text, err := u.read(u.system(file))
	if err != nil {
		return err
	}
	return lines(text, func(n int, line string) error {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			return nil
		}
		return f.add(said{fields[0], u.system(file), n})
	})
}

// aptLines reads sources a line: deb [options] ADDRESS SUITE COMPONENTS.
func aptLines(file, text string) (list []said, err error) {
	err = lines(text, func(n int, line string) error {
		line, _, _ = strings.Cut(line, "#")
		kind, rest, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(line, "\t", " ")), " ")
		switch kind {
		case "":
			return nil
		case "deb", "deb-src":
		default:
			return fmt.Errorf("%s:%d: %.40q is no kind of source", file, n, kind)
		}
		if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "[") {
			_, after, ok := strings.Cut(rest, "]")
			if !ok {
				return fmt.Errorf("%s:%d: the options have no end", file, n)
			}
			rest = after
		}
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			return fmt.Errorf("%s:%d: a source has an address and a suite", file, n)
		}
		list = append(list, said{fields[0], file, n})
		return nil
	})
	return list, err
}

// aptStanzas reads the control format: stanzas with fields, which go on in lines that begin with a blank.
func aptStanzas(file, text string) (list []said, err error) {
	var uris []said
	enabled, in := true, ""
	end := func() {
		if enabled {
			list = append(list, uris...)
		}
		uris, enabled, in = nil, true, ""
	}
	err = lines(text, func(n int, line string) error {
		switch {
		case strings.TrimSpace(line) == "":
			end()
			return nil
		case line[0] == '#':
			return nil
		case line[0] != ' ' && line[0] != '\t':
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				return fmt.Errorf("%s:%d: it is no field", file, n)
			}
			in, line = strings.ToLower(strings.TrimSpace(name)), value
		case in == "":
			return fmt.Errorf("%s:%d: it goes on with nothing", file, n)
		}
		switch in {
		case "uris":
			for _, text := range strings.Fields(line) {
				uris = append(uris, said{text, file, n})
			}
		case "enabled":
			switch strings.ToLower(strings.TrimSpace(line)) {
			case "no", "false", "without", "off", "disable":
				enabled = false
			}
		}
		return nil
	})
	end()
	return list, err
}

// aptProxies notes the proxies of apt's configuration: words in any of its spellings, Acquire::http::Proxy "..." or in braces.
func (u *User) aptProxies(f *found) error {
	files, err := u.aptFiles("/etc/apt/apt.conf", "", ".conf")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := u.read(file)
		if err != nil {
			return err
		}
		_ = lines(text, func(n int, line string) error {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#") {
				return nil
			}
			before, rest, ok := strings.Cut(line, `"`)
			value, _, closed := strings.Cut(rest, `"`)
			if ok && closed && strings.HasSuffix(strings.ToLower(strings.TrimSpace(before)), "proxy") && value != "" && value != "DIRECT" && value != "false" {
				f.proxy(said{value, file, n})
			}
			return nil
		})
	}
	return nil
}
