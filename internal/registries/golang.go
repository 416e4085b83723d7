package registries

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/riverlytech/art/internal/netrule"
)

// golang reads what go does (https://go.dev/ref/mod#environment-variables): its variables, and the file of `go env -w`. What "direct" leads
// to nobody knows before; but private modules are where their patterns say.
func golang(u *User) (*found, error) {
	values, err := u.goEnv()
	if err != nil {
		return nil, err
	}
	f := &found{}
	proxies, ok := values["GOPROXY"]
	if proxies.text == "off" {
		return f, nil
	}
	if !ok {
		f.byDefault("proxy.golang.org")
	}
	for _, text := range strings.FieldsFunc(proxies.text, func(r rune) bool { return r == ',' || r == '|' }) {
		if text = strings.TrimSpace(text); text != "direct" && text != "off" {
			if err := f.add(said{text, proxies.from, proxies.line}); err != nil {
				return nil, err
			}
		}
	}
	if err := f.sums(values); err != nil {
		return nil, err
	}
	private, ok := values["GONOPROXY"]
	if !ok {
		private = values["GOPRIVATE"]
	}
	for pattern := range strings.SplitSeq(private.text, ",") {
		host, _, _ := strings.Cut(strings.TrimSpace(pattern), "/")
		if host == "" || host == "none" {
			continue
		}
		r, err := netrule.Parse(host + ":443")
		if err != nil || host == "*" || host == netrule.Host {
			f.warnings = append(f.warnings, fmt.Errorf("%s: no host can be told from the pattern %.80q: name it if the session is to reach it", private.where(), pattern))
			continue
		}
		f.places = append(f.places, Place{Rule: r.String(), From: private.where(), Configured: true})
	}
	return f, nil
}

// sums adds the database of checksums, which is NAME, KEY, or one of them with an address.
func (f *found) sums(values map[string]said) error {
	sums, ok := values["GOSUMDB"]
	switch fields := strings.Fields(sums.text); {
	case !ok:
		f.byDefault("sum.golang.org")
	case sums.text == "off":
	case len(fields) == 0 || len(fields) > 2:
		return fmt.Errorf("%s: %.80q is no database of checksums", sums.where(), sums.text)
	default:
		address := fields[len(fields)-1]
		if len(fields) == 1 {
			name, _, _ := strings.Cut(fields[0], "+")
			address = "https://" + name
		} else if !strings.Contains(address, "://") {
			address = "https://" + address
		}
		return f.add(said{address, sums.from, sums.line})
	}
	return nil
}

// goEnv returns go's variables: of the environment, and of the file.
func (u *User) goEnv() (map[string]said, error) {
	values := map[string]said{}
	file := ""
	if dir := u.directory("XDG_CONFIG_HOME", ".config"); dir != "" {
		file = filepath.Join(dir, "go/env")
	}
	switch env := u.Getenv("GOENV"); env {
	case "":
	case "off":
		file = ""
	default:
		file = env
	}
	text, err := u.read(file)
	if err != nil {
		return nil, err
	}
	names := []string{"GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOPROXY"}
	_ = lines(text, func(n int, line string) error {
		key, value, ok := strings.Cut(line, "=")
		for _, name := range names {
			if ok && key == name && value != "" {
				values[name] = said{value, file, n}
			}
		}
		return nil
	})
	for _, name := range names {
		if s, ok := u.env(name); ok {
			values[name] = s
		}
	}
	return values, nil
}
