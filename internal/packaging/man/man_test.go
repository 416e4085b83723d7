package man

import (
	"flag"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
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
	if got := flags.Described(); !reflect.DeepEqual(got, []string{"m", "mount"}) {
		t.Errorf("described: %q", got)
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

func TestCompare(t *testing.T) {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	for _, name := range []string{"summary", "hide", "db", "base", "control"} { // without name
		set.String(name, "", "")
	}
	set.String("new", "", "")
	err := Compare("art-fuse.1", map[string]*flag.FlagSet{"art-fuse serve": set})
	for _, want := range []string{
		"does not describe the flag new of art-fuse serve", "describes a flag name, which art-fuse serve has not", "names a flag repair, which is none",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if got := Unnamed("-db DB, --base\n--hidden  --summary", set); !reflect.DeepEqual(got, []string{"control", "hide", "new"}) {
		t.Errorf("unnamed: %q", got)
	}
	if err := Compare("art-fuse.1", map[string]*flag.FlagSet{"art-fuse none": set}); err == nil {
		t.Error("a section that is not there was found")
	}
}
