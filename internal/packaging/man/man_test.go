package man

import (
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/flags"
)

func read(t *testing.T, name string) Page {
	t.Helper()
	p, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPagesAreClean has each page formatted by what is here: mandoc(1) finds more
// than groff(1), which every distribution has.
func TestPagesAreClean(t *testing.T) {
	lint := []string{"groff", "-mandoc", "-ww", "-z", "-Tutf8"}
	if _, err := exec.LookPath("mandoc"); err == nil {
		lint = []string{"mandoc", "-Tlint", "-Wwarning"}
	}
	for _, name := range Names() {
		cmd := exec.Command(lint[0], append(lint[1:], name)...)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v: %v\n%s", cmd, err, out)
		}
	}
}

// TestReferences holds cross references among the pages to those that there are,
// and each page to its own name and section.
func TestReferences(t *testing.T) {
	ours := map[string]bool{}
	for _, name := range Names() {
		ours[name] = true
	}
	for _, name := range Names() {
		page := read(t, name)
		base, section, _ := strings.Cut(name, ".")
		if want := ".Dt " + strings.ToUpper(base) + " " + section; page[1] != want {
			t.Errorf("%s: %q, want %q", name, page[1], want)
		}
		for _, line := range page {
			fields := strings.Fields(line)
			for i, word := range fields {
				if word != "Xr" && word != ".Xr" || i+2 >= len(fields) || !strings.HasPrefix(fields[i+1], "art") {
					continue
				}
				if file := fields[i+1] + "." + fields[i+2]; !ours[file] {
					t.Errorf("%s refers to %s, which is not there", name, file)
				}
			}
		}
	}
}

func TestParts(t *testing.T) {
	page := Page(strings.Split(`.Sh FLAGS
.Bl -tag
.It Fl m , Fl -mount Ar DIR
Not
.Fl -other .
.El
.Ss NEXT
.Op Fl -
.Op Fl z
.Bd -literal
$ a \-b \(aqc\(aq \e
\&.d
.Ed`, "\n"))
	flags, err := page.Section("FLAGS")
	if err != nil {
		t.Fatal(err)
	}
	if len(flags) != 5 {
		t.Errorf("section: %q", flags)
	}
	if got := page.Flags(); !reflect.DeepEqual(got, []string{"m", "mount", "other", "z"}) {
		t.Errorf("flags: %q", got)
	}
	if got := page.Literal(); !reflect.DeepEqual(got, []string{"$ a -b 'c' \\\n.d\n"}) {
		t.Errorf("literal: %q", got)
	}
	if _, err := page.Section("NONE"); err == nil {
		t.Error("a section that is not there was found")
	}
	if names := Names(); len(names) == 0 || filepath.Ext(names[0]) == "" {
		t.Errorf("pages: %q", names)
	}
}

// TestCommandsHaveSections holds art(1) to the commands that there are: each is in the synopsis, and has a section.
func TestCommandsHaveSections(t *testing.T) {
	var synopsis, sections []string
	part := ""
	for _, line := range read(t, "art.1") {
		switch name, value, _ := strings.Cut(line, " "); {
		case name == ".Sh":
			part = value
		case name == ".Ss":
			sections = append(sections, strings.Split(value, ", ")...)
		case name == ".Cm" && part == "SYNOPSIS":
			synopsis = append(synopsis, strings.Split(value, " | ")...)
		}
	}
	for _, c := range flags.Art.Commands() {
		_, word, _ := strings.Cut(c.Name, " ")
		if !slices.Contains(synopsis, word) {
			t.Errorf("the synopsis of art(1) lacks art %s", word)
		}
		if !slices.Contains(sections, c.Name) {
			t.Errorf("art(1) has no section for art %s", word)
		}
	}
}
