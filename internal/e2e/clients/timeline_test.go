package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A browser shows the page of `art timeline --html` as it is meant, and finds nothing in it that runs or is to be fetched.
func TestTimelineInABrowser(t *testing.T) {
	if os.Getenv("ART_TEST_CLIENTS") == "" {
		t.Skip("left out: make test-clients installs a browser, and runs this")
	}
	dir := t.TempDir()
	workspace := filepath.Join(dir, "workspace")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_RUNTIME_DIR="+dir)
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = workspace, env
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	art := filepath.Join(os.Getenv("ART_TEST_BIN"), "art")
	run(art, "run", "-q", "--commands", "--", "sh", "-c", `echo x >'<img src=x onerror=alert(1)>'; cp /etc/passwd copied; false || true`)
	page := filepath.Join(dir, "timeline.html")
	if err := os.WriteFile(page, []byte(run(art, "timeline", "--html")), 0o600); err != nil {
		t.Fatal(err)
	}
	dom := run("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(dir, "chromium"), "--dump-dom", "file://"+page)
	for _, part := range []string{"<code>cp /etc/passwd copied</code>", "made, written copied", "made, written &lt;img src=x onerror=alert(1)&gt;", `<div class="bar" style="margin-left: `} {
		if !strings.Contains(dom, part) {
			t.Errorf("there is no %s in\n%s", part, dom)
		}
	}
	if strings.Contains(dom, "<img") || strings.Count(dom, "<tr>") != 2 {
		t.Errorf("%s", dom)
	}
}
