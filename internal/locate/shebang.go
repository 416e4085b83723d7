package locate

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxShebang is how much of a script is looked at: the kernel takes 256 bytes (BINPRM_BUF_SIZE in
// include/uapi/linux/binfmts.h), and what pip writes for longer paths fits too.
const maxShebang = 4096

// shebang returns the interpreter of a script, or "". It is named if that is looked for in PATH, as env(1) does.
func shebang(path string) (interpreter string, named bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text := make([]byte, maxShebang)
	n, _ := io.ReadFull(f, text)
	return parseShebang(text[:n])
}

func parseShebang(text []byte) (interpreter string, named bool) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	line, ok := bytes.CutPrefix(first, []byte("#!"))
	if !ok {
		return "", false
	}
	words := strings.Fields(string(line))
	if len(words) == 0 || strings.ContainsRune(words[0], 0) || !filepath.IsAbs(words[0]) {
		return "", false
	}
	// Where the path is too long for the kernel or has a blank, pip has a shell exec the interpreter (distlib's scripts.py,
	// _build_shebang).
	if second, _, _ := bytes.Cut(rest, []byte("\n")); words[0] == "/bin/sh" {
		if quoted, ok := bytes.CutPrefix(second, []byte("'''exec' ")); ok {
			path, _, _ := strings.Cut(string(quoted), " ")
			if inside, ok := bytes.CutPrefix(quoted, []byte(`"`)); ok {
				path, _, _ = strings.Cut(string(inside), `"`)
			}
			if filepath.IsAbs(path) && !strings.ContainsRune(path, 0) {
				return filepath.Clean(path), false
			}
		}
	}
	if filepath.Base(words[0]) != "env" {
		return filepath.Clean(words[0]), false
	}
	for _, word := range words[1:] {
		word = strings.TrimPrefix(word, "-S")
		if word == "" || strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue // an option, or a variable
		}
		if strings.ContainsRune(word, 0) {
			return "", false
		}
		return filepath.Clean(word), !filepath.IsAbs(word)
	}
	return "", false
}
