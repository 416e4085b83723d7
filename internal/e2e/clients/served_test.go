package clients

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A file of a package.
type file struct{ name, text string }

// newServed returns what the servers have: a page, a repository, and a package of each manager's.
func newServed(t testing.TB, h *host) *http.ServeMux {
	mux := http.NewServeMux()
	fixed := func(path, kind string, data []byte) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write(data)
		})
	}
	base := func(r *http.Request) string { return "https://" + r.Host }
	fixed("/{$}", "text/html", []byte("<p>"+greeting+"</p>\n"))

	served := filepath.Dir(h.repository)
	crate := targz(t, []file{
		{"greeting-1.0.0/Cargo.toml", "[package]\nname = \"greeting\"\nversion = \"1.0.0\"\nedition = \"2021\"\n"},
		{"greeting-1.0.0/src/lib.rs", ""}, {"greeting-1.0.0/README", greeting},
	})
	repository(t, served, "greeting", []file{{"README", greeting}})
	entry := fmt.Sprintf(`{"name":"greeting","vers":"1.0.0","deps":[],"cksum":"%x","features":{},"yanked":false}`+"\n", sha256.Sum256(crate))
	repository(t, served, "index", []file{{"config.json", `{"dl": "https://` + allowed + `/crates"}`}, {"gr/ee/greeting", entry}})
	fixed("/crates/greeting/1.0.0/download", "application/gzip", crate)
	core, err := exec.Command("git", "--exec-path").Output()
	must(t, err)
	mux.Handle("/git/", &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(core)), "git-http-backend"), Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + served, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	})

	fixed("/npm/greeting.tgz", "application/gzip", targz(t, []file{
		{"package/package.json", `{"name": "greeting", "version": "1.0.0"}`}, {"package/README", greeting},
	}))
	mux.HandleFunc("/npm/greeting", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "greeting", "dist-tags": map[string]string{"latest": "1.0.0"},
			"versions": map[string]any{"1.0.0": map[string]any{
				"name": "greeting", "version": "1.0.0", "dist": map[string]string{"tarball": base(r) + "/npm/greeting.tgz"},
			}},
		})
	})

	fixed("/pip/greeting/", "text/html", []byte(`<a href="/wheel/greeting-1.0-py3-none-any.whl">greeting-1.0-py3-none-any.whl</a>`))
	fixed("/wheel/", "application/zip", zipped(t, []file{
		{"greeting.py", "print('" + greeting + "')\n"},
		{"greeting-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n"},
		{"greeting-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"greeting-1.0.dist-info/RECORD", "greeting.py,,\ngreeting-1.0.dist-info/METADATA,,\ngreeting-1.0.dist-info/WHEEL,,\ngreeting-1.0.dist-info/RECORD,,\n"},
	}))

	const module, at = "greeting.example/greeting", "/go/greeting.example/greeting/@v/v1.0.0"
	fixed(at+".info", "application/json", []byte(`{"Version": "v1.0.0", "Time": "2026-01-01T00:00:00Z"}`))
	fixed(at+".mod", "text/plain", []byte("module "+module+"\n"))
	fixed(at+".zip", "application/zip", zipped(t, []file{{module + "@v1.0.0/go.mod", "module " + module + "\n"}, {module + "@v1.0.0/README", greeting}}))
	return mux
}

// repository makes one of git's with some files, to be cloned.
func repository(t testing.TB, dir, name string, files []file) {
	work := t.TempDir()
	for _, f := range files {
		path := filepath.Join(work, f.name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(f.text+"\n"), 0o644))
	}
	run(t, work, "git", "init", "-q", "-b", "master")
	run(t, work, "git", "add", ".")
	run(t, work, "git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first")
	run(t, "", "git", "clone", "-q", "--bare", work, filepath.Join(dir, name+".git"))
}

func targz(t testing.TB, files []file) []byte {
	var buf bytes.Buffer
	compressed := gzip.NewWriter(&buf)
	w := tar.NewWriter(compressed)
	for _, f := range files {
		must(t, w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.text))}))
		_, err := w.Write([]byte(f.text))
		must(t, err)
	}
	must(t, w.Close())
	must(t, compressed.Close())
	return buf.Bytes()
}

func zipped(t testing.TB, files []file) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range files {
		one, err := w.Create(f.name)
		must(t, err)
		_, err = one.Write([]byte(f.text))
		must(t, err)
	}
	must(t, w.Close())
	return buf.Bytes()
}
