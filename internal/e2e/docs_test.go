package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents returns what is written about this project, by name.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{"README.md": readme(t)}
	names, err := filepath.Glob(filepath.Join(repo, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name = filepath.Join("docs", filepath.Base(name))
		texts[name] = document(t, name)
	}
	return texts
}

// table returns the rows of the tables of a text that begin with a head, as cells.
func table(text, head string) (rows [][]string) {
	columns := strings.Count(head, "|") - 1
	for _, part := range strings.Split(text, head+"\n"+strings.Repeat("|---", columns)+"|\n")[1:] {
		part, _, _ = strings.Cut(part, "\n\n")
		for row := range strings.Lines(part) {
			cells := strings.Split(strings.TrimSpace(row), "|")
			rows = append(rows, cells[1:len(cells)-1])
		}
	}
	return rows
}

var quoted = regexp.MustCompile("`([^`]+)`")

// names returns what stands in backquotes.
func names(cell string) (list []string) {
	for _, name := range quoted.FindAllStringSubmatch(cell, -1) {
		list = append(list, name[1])
	}
	return list
}

// TestDocumentPaths holds every file of this project that a document names, or links to, to be
// there.
func TestDocumentPaths(t *testing.T) {
	path := regexp.MustCompile("`((?:cmd|docs|fs|internal|libexec|sqlvfs|trace)/[^` ]*)`")
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	paths := 0
	for name, text := range documents(t) {
		for _, m := range path.FindAllStringSubmatch(text, -1) {
			paths++
			if !exists(filepath.Join(repo, m[1])) {
				t.Errorf("%s names %s, which is not there", name, m[1])
			}
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if !exists(filepath.Join(repo, filepath.Dir(name), m[1])) {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	}
	if paths < 100 {
		t.Errorf("only %d paths found", paths)
	}
}

// TestPromises holds the table of promises to stories and code that exist.
func TestPromises(t *testing.T) {
	rows := table(document(t, "docs/architecture.md"), "| promise | story | code |")
	for _, cells := range rows {
		for _, story := range names(cells[1]) {
			if files, err := filepath.Glob("testdata/*/" + story + ".txtar"); err != nil || len(files) != 1 {
				t.Errorf("of the story %s there is %q, %v", story, files, err)
			}
		}
		if len(names(cells[2])) == 0 {
			t.Errorf("no code keeps that%s", cells[0])
		}
	}
	if len(rows) < 30 {
		t.Errorf("only %d promises found", len(rows))
	}
}

// TestArchitecturePaths holds the functions that the paths through the code lead along to the files
// that they are said to be in.
func TestArchitecturePaths(t *testing.T) {
	rows := table(document(t, "docs/architecture.md"), "| file | functions | what happens |")
	for _, cells := range rows {
		file := strings.Trim(cells[0], " `")
		code, err := os.ReadFile(filepath.Join(repo, file))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range names(cells[1]) {
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `[\[(]`).Match(code) {
				t.Errorf("there is no function %s in %s", name, file)
			}
		}
	}
	if len(rows) < 25 {
		t.Errorf("only %d files found", len(rows))
	}
}

// TestDependencies holds the table of dependencies to go.mod.
func TestDependencies(t *testing.T) {
	told := map[string]bool{}
	for _, cells := range table(document(t, "docs/CONTRIBUTING.md"), "| module | for |") {
		for _, module := range names(cells[0]) {
			told[module] = true
		}
	}
	for _, module := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(document(t, "go.mod"), -1) {
		if !told[module[1]] {
			t.Errorf("docs/CONTRIBUTING.md does not say what %s is for", module[1])
		}
		delete(told, module[1])
	}
	for module := range told {
		t.Errorf("docs/CONTRIBUTING.md tells of %s, which is not used", module)
	}
}

// TestMessages holds the messages that the guide explains to those in the code.
func TestMessages(t *testing.T) {
	code, messages := sources(t), 0
	for _, cells := range table(document(t, "docs/guide.md"), "| message | what to do |") {
		if strings.HasPrefix(cells[0], " in the session") {
			continue // programs' own words
		}
		for _, message := range names(cells[0]) {
			messages++
			for part := range strings.SplitSeq(message, "...") {
				if part = strings.TrimSpace(part); !strings.Contains(code, part) {
					t.Errorf("the guide explains %q, which nothing says", part)
				}
			}
		}
	}
	if messages < 5 {
		t.Errorf("only %d messages found", messages)
	}
}
