package flags

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

var test = &Command{Name: "art test", Says: "be tested", Synopsis: []string{"[flags] [path...]"}, Env: true, Most: 3, Flags: []Flag{
	{Name: "mount", Short: "m", Also: "workspace", Arg: "DIR", Default: "the current one", Says: "where it is"},
	{Name: "list", Short: "l", Arg: "X", Repeat: true, Says: `"a", or "b c"`},
	{Name: "on", Short: "o", Arg: "BOOL", Switch: true, Default: "true", Says: "switch"},
	{Name: "q", Says: "say nothing " + strings.Repeat("at all ", 10)},
	{Name: "n", Arg: "N", Says: "count"},
}}

type values struct {
	dir   string
	list  []string
	on, q bool
	n     int
	words []string
	ended bool
}

func parse(c *Command, args string) (values, error) {
	v := values{on: true}
	line, err := c.Parse(strings.Fields(args), map[string]any{"mount": &v.dir, "list": &v.list, "on": &v.on, "q": &v.q, "n": &v.n})
	if err == nil {
		v.words, v.ended = line.Words, line.Ended
	}
	return v, err
}

func TestParse(t *testing.T) {
	t.Setenv("ART_WORKSPACE", "from-also")
	t.Setenv("ART_LIST", "from-env")
	t.Setenv("ART_N", "3")
	t.Setenv("ART_M", "no variable of a short name")
	payload := *test
	payload.Payload = true
	for _, x := range []struct {
		c    *Command
		args string
		want values
	}{
		{test, "", values{dir: "from-also", list: []string{"from-env"}, on: true, n: 3, words: []string{}}},
		{test, "a -m d b --list=1 -l 2 -o=false c", values{dir: "d", list: []string{"1", "2"}, n: 3, words: []string{"a", "b", "c"}}},
		{test, "a -q -n -1 --workspace=d -- -m x", values{dir: "d", list: []string{"from-env"}, on: true, q: true, n: -1, words: []string{"a", "-m", "x"}, ended: true}},
		{&payload, "-q ls -l - -q", values{dir: "from-also", list: []string{"from-env"}, on: true, q: true, n: 3, words: []string{"ls", "-l", "-", "-q"}}},
		{&payload, "-q -- ls -- -l", values{dir: "from-also", list: []string{"from-env"}, on: true, q: true, n: 3, words: []string{"ls", "--", "-l"}, ended: true}},
	} {
		if got, err := parse(x.c, x.args); err != nil || !reflect.DeepEqual(got, x.want) {
			t.Errorf("%q:\n%+v, %v, want\n%+v", x.args, got, err, x.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for args, reason := range map[string]string{
		"--nosuch=1": "there is no flag --nosuch", "--lsit=a": "there is no flag --lsit: did you mean --list?", "--workspaec x": "--workspaec: did you mean --workspace?", "a -m": "the flag -m needs a value", "--on=maybe": "maybe", "-n x": `"x"`, "--=": "no flag --", "1 2 3 4": `"4" is one word too many`,
	} {
		if _, err := parse(test, args); !errors.As(err, new(UsageError)) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// Letters behind one hyphen are flags, and what follows one with a value is that.
func TestBundles(t *testing.T) {
	c := &Command{Name: "art test", Synopsis: []string{""}, Bundles: true, Most: 1, Lacks: map[string]string{"k": "use something else", "kernel": "use something else"}, Flags: []Flag{
		{Name: "brief", Short: "y"}, {Name: "long", Short: "yy"}, {Name: "q"}, {Name: "size", Short: "s", Arg: "N"},
	}}
	for args, want := range map[string]string{
		"-yq": "--brief=true --q=true", "-yyq": "--long=true --q=true", "-qs12": "--q=true --size=12", "-s12": "--size=12", "-qs 12": "--q=true --size=12",
		"-brief": "--brief=true", "-q -- -yq": "--q=true",
	} {
		var brief, long, q bool
		var size int
		line, err := c.Parse(strings.Fields(args), map[string]any{"brief": &brief, "long": &long, "q": &q, "size": &size})
		if err != nil || strings.Join(line.Flags, " ") != want {
			t.Errorf("%q: %v, %v, want %s", args, line, err, want)
		}
	}
	for args, reason := range map[string]string{
		"-k": "the flag -k is not supported: use something else", "-qky": "the flag -k is not supported", "-kq": "the flag -k is not supported",
		"--kernel": "the flag --kernel is not supported", "-qx": "there is no flag -qx", "--yq": "there is no flag --yq", "-sx": `"x"`, "-": "",
	} {
		_, err := c.Parse(strings.Fields(args), map[string]any{"brief": new(bool), "long": new(bool), "q": new(bool), "size": new(int)})
		if reason == "" && err != nil || reason != "" && (!errors.As(err, new(UsageError)) || !strings.Contains(err.Error(), reason)) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestHelp(t *testing.T) {
	few := *test
	few.Least = 1
	if _, err := parse(&few, "-q"); err == nil || !strings.Contains(err.Error(), "art test [flags] [path...]") {
		t.Errorf("too few words: %v", err)
	}
	_, err := parse(test, "a --help --nosuch")
	text, wanted := Help(err)
	if want := `NAME
  art test - be tested

SYNOPSIS
  art test [flags] [path...]

FLAGS
  -m, --mount, --workspace DIR
                          where it is (default: the current one)
  -l, --list X            a, or "b c"; may be repeated
  -o, --on=BOOL           switch (default: true)
  -q                      say nothing at all at all at all at all at all at all
                          at all at all at all at all
  -n N                    count
      --help              print this text

  Every flag with a long name is an environment variable, too: --mount is
  ART_MOUNT. What stands on the command line counts more.
`; !wanted || text != want {
		t.Errorf("%v, %s", err, text)
	}
}

// TestCommands holds what the texts of the commands are made of to what the documents are made from.
func TestCommands(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Commands() {
		if names[c.Name] || c.Says == "" || len(c.Synopsis) == 0 {
			t.Errorf("%s is there twice, or says nothing", c.Name)
		}
		names[c.Name] = true
		spelled := map[string]bool{}
		for _, f := range c.Flags {
			for _, s := range f.Spellings() {
				if spelled[s] {
					t.Errorf("%s has %s twice", c.Name, s)
				}
				spelled[s] = true
			}
			if f.Says == "" || strings.HasSuffix(f.Says, ".") || f.More != "" && !strings.HasSuffix(f.More, ".") || strings.Count(f.Says+f.More, `"`)%2 != 0 {
				t.Errorf("%s --%s: %q, %q", c.Name, f.Name, f.Says, f.More)
			}
		}
		for line := range strings.Lines(c.Help()) {
			if len(line) > 92 {
				t.Errorf("the help of %s has a long line: %s", c.Name, line)
			}
		}
	}
}
