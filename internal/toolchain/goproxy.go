package toolchain

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// maxGoEnv bounds a file of Go's settings, in bytes.
const maxGoEnv = 64 << 10

// goProxy returns where the caller's go gets modules from: what he says, or go's own default, which is in its root
// (https://go.dev/doc/toolchain, "GOROOT/go.env"). It is "" if that is not known.
func (b *builder) goProxy() string {
	if proxy := b.goOwn("GOPROXY"); proxy != "" {
		return withoutLogins(proxy)
	}
	for _, dir := range filepath.SplitList(b.Getenv("PATH")) {
		if program, err := filepath.EvalSymlinks(filepath.Join(dir, "go")); err == nil {
			return goSetting(filepath.Join(filepath.Dir(filepath.Dir(program)), "go.env"), "GOPROXY")
		}
	}
	return ""
}

// goOwn returns what the caller's go takes from the environment, or from the file that `go env -w` writes, which GOENV names
// or else lies where the user's settings are (`go help environment`, os.UserConfigDir).
func (b *builder) goOwn(name string) string {
	if value := b.Getenv(name); value != "" {
		return value
	}
	file := b.Getenv("GOENV")
	if file == "off" {
		return ""
	}
	if file == "" {
		dir := b.Getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(b.home, ".config")
		}
		file = filepath.Join(dir, "go/env")
	}
	return goSetting(file, name)
}

// withoutLogins returns a list of proxies without the names and passwords in their addresses. What cannot be read gets no
// modules: another proxy would learn their names.
func withoutLogins(proxies string) string {
	var out strings.Builder
	for proxies != "" {
		end := strings.IndexAny(proxies, ",|")
		if end < 0 {
			end = len(proxies)
		}
		proxy := strings.TrimSpace(proxies[:end])
		if address, err := url.Parse(proxy); err != nil {
			proxy = "off"
		} else if address.User != nil {
			address.User = nil
			proxy = address.String()
		}
		out.WriteString(proxy)
		if end < len(proxies) {
			out.WriteByte(proxies[end])
			end++
		}
		proxies = proxies[end:]
	}
	return out.String()
}

// goSetting returns what a file of Go's settings says of a variable.
func goSetting(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxGoEnv))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return value
		}
	}
	return ""
}
