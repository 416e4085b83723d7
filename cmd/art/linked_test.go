package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLinked holds programs that open no database to be linked without SQLite, FUSE, a network and what is built on them: art starts
// itself several times in each session, and the kernel maps and the runtime sets up what is linked each time.
func TestLinked(t *testing.T) {
	// Litestream brings another SQLite, and clients of stores: 30 MB.
	without := []string{"github.com/ncruces/", "github.com/jacobsa/", "github.com/riverlytech/art/fs", "github.com/aymanbagabas/go-udiff", "gvisor.dev/"}
	copies := []string{"github.com/benbjohnson/litestream", "github.com/aws/", "modernc.org/"}
	for program, without := range map[string][]string{
		"art": slices.Concat(without, copies), "art-trace": slices.Concat(without, copies), "art-fuse": copies, "art-net": copies, "art-sync": copies,
	} {
		cmd := exec.Command("go", "list", "-deps", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./cmd/"+program)
		cmd.Dir = "../.."
		list, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(list)) {
			importer, imported, _ := strings.Cut(strings.TrimSpace(line), " ")
			isWithout := func(path string) bool {
				return path == "github.com/riverlytech/art/sqlvfs" && slices.Contains(without, "gvisor.dev/") ||
					slices.ContainsFunc(without, func(p string) bool { return strings.HasPrefix(path, p) })
			}
			if isWithout(importer) {
				continue
			}
			for path := range strings.FieldsSeq(imported) {
				if isWithout(path) {
					t.Errorf("%s is linked with %s, since %s imports it", program, path, importer)
				}
			}
		}
	}
}
