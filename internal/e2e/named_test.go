package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// named WORKSPACE DB KIND...
//
// makes sure that all that is in the directory of each kind names commands that come from the script KIND.sh, as its arguments say, and no
// others.
func cmdNamed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: named workspace db kind...")
	}
	ws, db, kinds := ts.MkAbs(args[0]), ts.MkAbs(args[1]), args[2:]
	art := func(args ...string) []byte {
		cmd := exec.Command("art", args...)
		cmd.Dir, cmd.Env = ws, append(cmd.Environ(), "PATH="+ts.Getenv("PATH"), "HOME="+ts.Getenv("HOME"))
		out, err := cmd.Output()
		if err != nil || len(out) == 0 {
			ts.Fatalf("art %s: %v", strings.Join(args, " "), err)
		}
		return out
	}

	type process struct {
		Process int64
		Parent  *int64
		Command []string
		Files   []struct {
			Path  string
			There bool
		}
	}
	all, names := map[int64]*process{}, map[string][]*process{}
	for line := range bytes.Lines(art("timeline", "-d", db, "--all", "--json")) {
		p := &process{}
		ts.Check(json.Unmarshal(line, p))
		all[p.Process] = p
		for _, f := range p.Files {
			names[f.Path] = append(names[f.Path], p)
		}
	}
	kindOf := func(p *process) string {
		for ; p != nil; p = all[*p.Parent] {
			if i := slices.IndexFunc(kinds, func(k string) bool { return slices.Equal(p.Command, []string{"sh", "-e", k + ".sh"}) }); i >= 0 {
				return kinds[i]
			}
			if p.Parent == nil {
				break
			}
		}
		return ""
	}
	counts := map[string]int{}
	find := append([]string{"-q", "-m", ".", "-d", db, "--", "find"}, kinds...)
	for line := range strings.Lines(string(art(append(find, "-mindepth", "1")...))) {
		at := strings.TrimSuffix(line, "\n")
		if len(names[at]) == 0 {
			ts.Fatalf("%s names no command", at)
		}
		kind, _, _ := strings.Cut(at, "/")
		for _, p := range names[at] {
			if is := kindOf(p); is != kind {
				ts.Fatalf("%s names %q, of %q", at, p.Command, is)
			}
		}
		counts[kind]++
	}
	for _, kind := range kinds {
		if counts[kind] == 0 {
			ts.Fatalf("nothing was made in %s", kind)
		}
	}
	ts.Logf("objects that name their command: %v", counts)
}
