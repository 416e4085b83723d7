package replica

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/litestream/file"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A place belongs to one database, and takes no earlier state of it.
func TestClaim(t *testing.T) {
	mine := Identity{Format: 1, ID: "a", Database: "work", Workspace: "/w", Host: "here", Session: 3, Changed: time.Unix(1e9, 0)}
	change := func(f func(*Identity)) []byte {
		other := mine
		f(&other)
		return other.marshal()
	}
	for what, c := range map[string]struct {
		there  []byte
		says   string // "" is none
		beside string
	}{
		"nothing":            {},
		"the same":           {there: mine.marshal()},
		"an earlier state":   {there: change(func(o *Identity) { o.Session = 2 })},
		"a later state":      {there: change(func(o *Identity) { o.Session = 4 }), says: "the copy there is of a later state than the database: /w on here"},
		"another":            {there: change(func(o *Identity) { o.ID, o.Host = "b", "there" }), says: "it holds the copy of another database: /w on there, of 2001-09-"},
		"control characters": {there: change(func(o *Identity) { o.ID, o.Workspace = "b", "/w\x1b[2J" }), says: `another database: /w\x1b[2J on here`},
		"a newer format":     {there: change(func(o *Identity) { o.Format = 2 }), says: "a newer art has made the copy there"},
		"nonsense":           {there: []byte("{"), says: "art.json there is damaged"},
		"no identity":        {there: []byte(`{"format":1}`), says: "art.json there is damaged"},
		"Litestream's own":   {beside: "ltx/0/0000000000000001-0000000000000001.ltx", says: "there is a copy already, which art has not made"},
	} {
		dir := t.TempDir()
		if c.there != nil {
			must(t, os.WriteFile(filepath.Join(dir, identityName), c.there, 0o600))
		}
		if c.beside != "" {
			must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(c.beside)), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, c.beside), []byte("x"), 0o600))
		}
		err := claim(t.Context(), file.NewReplicaClient(dir), directory(dir), &mine)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || !errors.As(err, new(*refused))) {
			t.Errorf("%s: %v", what, err)
		}
		if now, _ := os.ReadFile(filepath.Join(dir, identityName)); c.there != nil && string(now) != string(c.there) {
			t.Errorf("%s: it has changed to %s", what, now)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, ".art*")); len(names) > 0 {
			t.Errorf("%s: %q is left", what, names)
		}
	}
}

// Of two that claim a place at once, one has it.
func TestClaimAtOnce(t *testing.T) {
	d := directory(t.TempDir())
	must(t, d.create(t.Context(), "x", []byte("first")))
	if err := d.create(t.Context(), "x", []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the second: %v", err)
	}
	if got, err := d.get(t.Context(), "x"); string(got) != "first" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
