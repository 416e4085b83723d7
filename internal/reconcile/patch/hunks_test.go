package patch

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// text makes a text of few different lines, which may lack the newline at its end.
func text(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteString(string(rune('a'+r.IntN(6))) + "\n")
	}
	if r.IntN(3) == 0 {
		b.WriteString("end")
	}
	return b.String()
}

// change changes some lines of a text.
func change(r *rand.Rand, s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		switch r.IntN(9) {
		case 0:
		case 1:
			b.WriteString("new\n" + line)
		case 2:
			b.WriteString("other\n")
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestAllIsTheNewText(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		before := text(r)
		after := change(r, before)
		list := Hunks(before, after)
		if got := Apply(before, list); got != after {
			t.Fatalf("seed %d: all of\n%q\n%q\nis %q", seed, before, after, got)
		}
		if got := Apply(before, nil); got != before {
			t.Fatalf("seed %d: nothing is %q", seed, got)
		}
		var split []Hunk
		for _, h := range list {
			split = append(split, h.Split()...)
		}
		if got := Apply(before, split); got != after {
			t.Fatalf("seed %d: all parts are %q, want %q", seed, got, after)
		}
	}
}

// Whatever is picked, what is left brings the rest: to pick in two steps is to take all.
func TestTheRestBringsTheRest(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		before := text(r)
		after := change(r, before)
		var picked []Hunk
		for _, h := range Hunks(before, after) {
			for _, part := range h.Split() {
				if r.IntN(2) == 0 {
					picked = append(picked, part)
				}
			}
		}
		half := Apply(before, picked)
		if got := Apply(half, Hunks(half, after)); got != after {
			t.Fatalf("seed %d: %q, then %q, want %q", seed, half, got, after)
		}
	}
}

// What is shown is what git applies, for each hunk by itself.
func TestGitAppliesWhatIsShown(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		before := text(r)
		after := change(r, before)
		for _, h := range Hunks(before, after) {
			for _, part := range append(h.Split(), h) {
				dir := t.TempDir()
				file := filepath.Join(dir, "f")
				if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
					t.Fatal(err)
				}
				// What git is given of one hunk alone starts where it would in the old text.
				_, body, _ := strings.Cut(part.String(), "\n")
				p := "--- a/f\n+++ b/f\n" + header(part) + "\n" + body
				cmd := exec.Command("git", "apply", "--unidiff-zero", "--allow-empty")
				cmd.Dir, cmd.Stdin = dir, strings.NewReader(p)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("seed %d: %s\n%s\nto %q", seed, out, p, before)
				}
				got, _ := os.ReadFile(file)
				if want := Apply(before, []Hunk{part}); string(got) != want {
					t.Fatalf("seed %d: git makes %q, we %q, of %q and\n%s", seed, got, want, before, p)
				}
			}
		}
	}
}

// header is the line with the numbers of a hunk that comes alone.
func header(h Hunk) string {
	for i := range h.edits {
		if i == 0 {
			h.edits = append([]edit{}, h.edits...)
			h.edits[0].at = h.edits[0].start
		}
	}
	head, _, _ := strings.Cut(h.String(), "\n")
	return head
}

func TestString(t *testing.T) {
	before := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\nend"
	after := "1\n2\n3\n4\nfive\n6\n7\n8\n9\nnine\n10\n11\n12\n13\n14\nEND\n"
	list := Hunks(before, after)
	want := "@@ -2,14 +2,15 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n+nine\n 10\n 11\n 12\n 13\n 14\n-end\n\\ No newline at end of file\n+END\n"
	if len(list) != 1 || list[0].String() != want {
		t.Fatalf("%q", list)
	}
	parts := list[0].Split()
	if len(parts) != 3 || parts[1].String() != "@@ -6,9 +6,10 @@\n 6\n 7\n 8\n 9\n+nine\n 10\n 11\n 12\n 13\n 14\n" {
		t.Fatalf("%q", parts)
	}
}

func TestEdit(t *testing.T) {
	before, after := "a\nb\nc\n", "a\nB\nc\nd\n"
	h := Hunks(before, after)[0]
	for _, c := range []struct{ edited, want, err string }{
		{" a\n-b\n+B\n c\n+d\n", after, ""},
		{"# no matter\n@@ -1 +1 @@\n a\n b\n c\n+d\n", "a\nb\nc\nd\n", ""},
		{" a\n-b\n+other\n+more\n c\n", "a\nother\nmore\nc\n", ""},
		{" a\n-b\n c\n", "a\nc\n", ""},
		{" a\n b\n c\n+end\n\\ No newline at end of file\n", "a\nb\nc\nend", ""},
		{" a\n b\n c\n", before, ""},
		{" a\n c\n", "", "no such line there"},
		{" a\n", "", "missing"},
		{" a\n-b\n c\n d\n", "", "no such line"},
		{"a\n", "", "begins with neither"},
		{"", "", "missing"},
	} {
		got, ok, err := h.Edit(c.edited)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v", c.edited, err)
			}
			continue
		}
		if err != nil || ok != (c.want != before) {
			t.Errorf("%q: %v, %v", c.edited, ok, err)
		} else if s := Apply(before, []Hunk{got}); s != c.want {
			t.Errorf("%q makes %q, want %q", c.edited, s, c.want)
		}
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\nd\n", " a\n-b\n+B\n c\n+d\n")
	f.Add("", "x", "+x\n\\ No newline at end of file\n")
	f.Fuzz(func(t *testing.T, before, after, edited string) {
		list := Hunks(before, after)
		if got := Apply(before, list); got != after {
			t.Fatalf("all of %q, %q is %q", before, after, got)
		}
		for _, h := range list {
			if e, ok, err := h.Edit(edited); ok && err == nil {
				_ = e.String()
				Apply(before, []Hunk{e})
			}
			if e, ok, err := h.Edit(h.String()); !ok || err != nil || Apply(before, []Hunk{e}) != Apply(before, []Hunk{h}) {
				t.Fatalf("as it is, %q is edited to %q (%v)", h, e, err)
			}
		}
	})
}
