package toolchain

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxGoEnv bounds a file of Go's settings, in bytes.
const maxGoEnv = 64 << 10

// goProxy returns where the caller's go gets modules from: what he says, or go's own default, which is in its root
// (https://go.dev/doc/toolchain, "GOROOT/go.env"). It is "" if that is not known.
func (b *builder) goProxy() string {
	if proxy := b.Getenv("GOPROXY"); proxy != "" {
		return proxy
	}
	if proxy := goSetting(filepath.Join(b.home, ".config/go/env"), "GOPROXY"); proxy != "" {
		return proxy
	}
	for _, dir := range filepath.SplitList(b.Getenv("PATH")) {
		if program, err := filepath.EvalSymlinks(filepath.Join(dir, "go")); err == nil {
			return goSetting(filepath.Join(filepath.Dir(filepath.Dir(program)), "go.env"), "GOPROXY")
		}
	}
	return ""
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
