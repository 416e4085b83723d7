package replica

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A place belongs to one database, and takes no state of it that does not go on from what is there.
func TestClaim(t *testing.T) {
	mine := Head{Format: headFormat, ID: "a", Place: "p", Database: "work", Workspace: "/w", Host: "here", Session: 3, Changed: time.Unix(1e9, 0)}
	change := func(f func(*Head)) []byte {
		other := mine
		f(&other)
		return other.marshal()
	}
	generations := func(all ...string) func(*Head) {
		return func(h *Head) {
			for _, id := range all {
				h.Generations = append(h.Generations, Generation{ID: id})
			}
		}
	}
	const copied = "/ltx/0/0000000000000001-0000000000000001.ltx"
	for what, c := range map[string]struct {
		there     []byte
		says      string // "" is none
		beside    string
		continues string
	}{
		"nothing":                   {},
		"the same":                  {there: mine.marshal()},
		"its own generation":        {there: change(generations("x", "mine")), beside: "generation-mine" + copied},
		"a later file":              {continues: "mine@0000000000000001", there: change(generations("mine")), beside: "generation-mine/ltx/1/0000000000000001-0000000000000002.ltx", says: "goes on from another state"},
		"the last file":             {continues: "mine@0000000000000001", there: change(generations("mine")), beside: "generation-mine" + copied},
		"no file":                   {continues: "mine@x", there: change(generations("mine")), beside: "generation-mine" + copied, says: "goes on from another state"},
		"a later one, without data": {there: change(generations("mine", "y")), beside: "generation-mine" + copied},
		"a later one":               {there: change(generations("mine", "y")), beside: "generation-y" + copied, says: "goes on from another state than the database: /w on here"},
		"unknown ones, empty":       {there: change(generations("y"))},
		"unknown ones":              {there: change(generations("y", "z")), beside: "generation-y" + copied, says: "goes on from another state than the database"},
		"another":                   {there: change(func(o *Head) { o.ID, o.Host = "b", "there" }), says: "it holds the copy of another database: /w on there, of 2001-09-"},
		"control characters":        {there: change(func(o *Head) { o.ID, o.Workspace = "b", "/w\x1b[2J" }), says: `another database: /w\x1b[2J on here`},
		"a newer format":            {there: change(func(o *Head) { o.Format++ }), says: "a newer art has made the copy there"},
		"an older format":           {there: change(func(o *Head) { o.Format-- }), says: "an older art has made the copy there"},
		"nonsense":                  {there: []byte("{"), says: "art.json there is damaged"},
		"no identity":               {there: []byte(`{"format":2}`), says: "art.json there is damaged"},
		"Litestream's own":          {beside: "ltx/0/0000000000000001-0000000000000001.ltx", says: "there is a copy already, which art has not made"},
	} {
		dir := t.TempDir()
		if c.there != nil {
			must(t, os.WriteFile(filepath.Join(dir, "art-7.json"), c.there, 0o600))
		}
		if c.beside != "" {
			must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(c.beside)), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, c.beside), []byte("x"), 0o600))
		}
		place, err := open(t.Context(), "file://"+dir)
		must(t, err)
		who := claimant{mine: &mine, continues: map[string]string{"p": cmp.Or(c.continues, "mine")}, lease: Lease{Token: "t"}}
		got, err := who.claim(t.Context(), place)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || !errors.As(err, new(*refused))) {
			t.Errorf("%s: %v", what, err)
		}
		if text, _ := os.ReadFile(filepath.Join(dir, "art-7.json")); c.says != "" && string(text) != string(c.there) {
			t.Errorf("%s: it has changed to %s", what, text)
		}
		if err == nil {
			head, _, err := readHead(t.Context(), place.own)
			if err != nil || head.newest() != got.generation.ID || head.Lease.Token != "t" {
				t.Errorf("%s: the head is %+v, %v", what, head, err)
			}
		}
		if names, _ := filepath.Glob(filepath.Join(dir, ".art*")); len(names) > 0 {
			t.Errorf("%s: %q is left", what, names)
		}
	}
}

// What was pending is kept from session to session, is none of an older art's business, and is unknown where it cannot be such numbers.
func TestPendingInHead(t *testing.T) {
	const begin = `{"format":3,"id":"a","generations":[]`
	for text, want := range map[string]int{
		begin + `}`:                -1,
		begin + `,"pending":null}`: -1,
		begin + `,"pending":{"changed":2,"deleted":1,"directories":4,"counted":"2026-11-29T04:00:00Z"}}`: 3,
		begin + `,"pending":{"changed":2,"deleted":-1}}`:                                                 -1,
		begin + `,"pending":{"changed":9223372036854775807,"deleted":9223372036854775807}}`:              -1,
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "art-1.json"), []byte(text), 0o600))
		head, _, err := readHead(t.Context(), directory{local{}, dir})
		must(t, err)
		got := -1
		if next := head.next(); next.Pending != nil {
			got = next.Pending.Paths()
		}
		if got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// A generation that somebody else has named is no other directory.
func TestHostileGenerations(t *testing.T) {
	for text, good := range map[string]bool{
		`{"id":"ABCDEFGH234567AB"}`:                              true,
		`{"id":"ABCDEFGH234567AB","base":"ABCDEFGH@0000000001"}`: true,
		`{"id":"x/../../precious"}`:                              false,
		`{"id":".."}`:                                            false,
		`{"id":""}`:                                              false,
		`{"id":"A","base":"x/../..@0000000000000001"}`:           false,
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "art-1.json"), []byte(`{"format":3,"id":"a","generations":[`+text+`]}`), 0o600))
		if _, _, err := readHead(t.Context(), directory{local{}, dir}); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
