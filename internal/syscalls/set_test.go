package syscalls

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/cli"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		list          string
		in, out       []string
		arch          *Arch
		wholeSetCount int // 0: not compared
	}{
		{"", []string{"read", "clone3"}, nil, &AMD64, len(AMD64.Names())},
		{"all", []string{"read", "clone3"}, nil, &ARM64, len(ARM64.Names())},
		{"openat", []string{"openat"}, []string{"open", "read"}, &AMD64, 1},
		{" openat , read ", []string{"openat", "read"}, nil, &AMD64, 2},
		{"%file,!stat", []string{"openat", "unlink"}, []string{"stat", "read"}, &AMD64, 0},
		{"!read,!write", []string{"openat", "close"}, []string{"read", "write"}, &AMD64, len(AMD64.Names()) - 2},
		{"!%memory", []string{"openat"}, []string{"mmap", "brk"}, &ARM64, 0},
		{"%network,%signal", []string{"connect", "kill"}, []string{"openat"}, &ARM64, 0},
		{"%process", []string{"execve", "exit_group", "wait4"}, []string{"fork"}, &ARM64, 0},
		{"open,openat", []string{"openat"}, []string{"open"}, &ARM64, 1},
		{"/^open", []string{"open", "openat", "open_by_handle_at"}, []string{"mq_open", "close"}, &AMD64, 0},
		{"/^open,!/at$,2,3", []string{"open", "openat2", "close"}, []string{"openat"}, &AMD64, 0},
		{"mmap2,mmap,stat64", []string{"mmap"}, []string{"mmap2"}, &AMD64, 1},
		{"none", nil, []string{"openat"}, &AMD64, 0},
		{"?nosuchcall,?%nosuch,?openat", []string{"openat"}, nil, &AMD64, 1},
	} {
		set, err := parse(tc.arch, tc.list)
		if err != nil {
			t.Errorf("%q: %v", tc.list, err)
			continue
		}
		for _, name := range tc.in {
			if !set.Has(name) {
				t.Errorf("%q does not hold %s", tc.list, name)
			}
		}
		for _, name := range tc.out {
			if set.Has(name) {
				t.Errorf("%q holds %s", tc.list, name)
			}
		}
		if n := len(set.Names()); tc.wholeSetCount != 0 && n != tc.wholeSetCount {
			t.Errorf("%q holds %d calls, want %d", tc.list, n, tc.wholeSetCount)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tc := range []struct{ list, message, hint string }{
		{"opennat", `unknown system call "opennat"`, "did you mean openat?"},
		{"%files", `unknown class "%files"`, "did you mean %file?"},
		{"!mmpa", `unknown system call "mmpa"`, "did you mean mmap?"},
		{"file", `unknown system call "file"`, "did you mean %file?"},
		{"read,", `unknown system call ""`, ""},
		{"xyzzyxyzzyxyzzy", `unknown system call`, ""},
		{"/^nothing", "no system call is so named", ""},
		{"/(", "missing closing )", "see regex(7); a comma ends the expression"},
		{"99999", `unknown system call "99999"`, ""},
		{"read,!read", "leaves no call", ""},
		{"open", "leaves no call", ""},
		{"!open,close", "the list starts with !", "write ! in front of every item to leave it out, or put the items without ! first"},
	} {
		_, err := parse(&ARM64, tc.list)
		if err == nil || !strings.Contains(err.Error(), tc.message) {
			t.Errorf("%q: %v, want %q", tc.list, err, tc.message)
			continue
		}
		var h cli.Hinted
		hint := ""
		if errors.As(err, &h) {
			hint = h.Hint()
		}
		if hint != tc.hint {
			t.Errorf("%q: hint %q, want %q", tc.list, hint, tc.hint)
		}
	}
}

// Every class has members, and those of the small ones exist.
func TestClasses(t *testing.T) {
	for name, s := range classes {
		if !slices.ContainsFunc(table[:], func(c Call) bool { return c.sets&s != 0 }) {
			t.Errorf("%%%s is empty", name)
		}
	}
	for class, names := range small {
		for _, name := range names {
			if Lookup(name) == nil {
				t.Errorf("%%%s: no architecture has %s", class, name)
			}
		}
	}
}

// Whatever is typed: an error, or a set of calls that exist, which names itself.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "all", "openat,read", "%file,!stat", "!a", ",", "!!read", "%", "opeNat"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		set, err := Parse(list)
		if err != nil {
			return
		}
		names := set.Names()
		if len(names) == 0 {
			t.Fatalf("%q is an empty set", list)
		}
		for _, name := range names {
			if _, ok := Native.Number(name); !ok {
				t.Fatalf("%q holds %q", list, name)
			}
		}
		again, err := Parse(strings.Join(names, ","))
		if err != nil || !slices.Equal(again.Names(), names) {
			t.Fatalf("%q: its names are another set: %v", list, err)
		}
	})
}
