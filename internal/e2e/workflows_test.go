package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWorkflows holds what the workflows run to targets of the Makefile and to files that are there,
// and what they use to versions.
func TestWorkflows(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(document(t, "Makefile"), -1) {
		targets[m[1]] = true
	}
	files, err := filepath.Glob(filepath.Join(repo, ".github/workflows/*.yml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("there are %d workflows: %v", len(files), err)
	}
	run := regexp.MustCompile(`(?m)^(?:make ([a-z0-9-]+)|((?:\.ci|internal)/[^ \n]+))`)
	uses := regexp.MustCompile(`(?m)uses: (\S+)$`)
	ran := 0
	for _, file := range append(files, filepath.Join(repo, "docs/examples/agent.yml")) {
		name, workflow := filepath.Base(file), read(t, file)
		for _, script := range scripts(workflow) {
			for _, m := range run.FindAllStringSubmatch(script, -1) {
				ran++
				if m[1] != "" && !targets[m[1]] {
					t.Errorf("%s runs make %s, and there is no such target", name, m[1])
				}
				if m[2] != "" && !executable(filepath.Join(repo, m[2])) {
					t.Errorf("%s runs %s, which is no program", name, m[2])
				}
			}
		}
		for _, m := range uses.FindAllStringSubmatch(workflow, -1) {
			if _, version, _ := strings.Cut(m[1], "@"); !strings.HasPrefix(version, "v") && !exists(filepath.Join(repo, m[1])) {
				t.Errorf("%s uses %s, of no version", name, m[1])
			}
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands found", ran)
	}
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
