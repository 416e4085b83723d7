package replica

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A place whose copy was removed is free for another database, and what is late of those before finds nothing that it could replace.
func TestRemove(t *testing.T) {
	dir := t.TempDir()
	place, err := open(t.Context(), "file://"+dir)
	must(t, err)
	claim := func(id string, takeOver bool) *tenure {
		t.Helper()
		who := claimant{mine: &Head{Format: headFormat, ID: id, Place: "of " + id}, lease: Lease{Token: id}, takeOver: takeOver}
		tenure, err := who.claim(t.Context(), place)
		must(t, err)
		return tenure
	}
	first := claim("a", false)
	late := first.tag
	must(t, os.Mkdir(filepath.Join(dir, first.generation.dir()), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, first.generation.dir(), "file"), nil, 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "mine"), 0o700))
	second := claim("a", true)
	must(t, second.remove(t.Context()))
	var none *noCopyError
	if _, err := Find(t.Context(), "file://"+dir); !errors.As(err, &none) {
		t.Errorf("there is a copy: %v", err)
	}
	if all, err := List(t.Context(), "file://"+dir); err != nil || len(all) > 0 {
		t.Errorf("listed: %v, %v", all, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "[^.]*")); err != nil || len(left) != 2 || filepath.Base(left[1]) != "mine" {
		t.Errorf("there is %v, %v", left, err)
	}
	if err := second.vacate(t.Context()); err != nil { // as after an answer that was lost
		t.Error(err)
	}
	if err := first.confirm(t.Context()); !errors.Is(err, errNoHead) {
		t.Errorf("what was removed counts: %v", err)
	}
	if _, err := place.own.swap(t.Context(), headName, []byte("late"), late); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a late swap: %v", err)
	}
	other := claim("b", false)
	if err := first.confirm(t.Context()); !errors.As(err, new(*refused)) {
		t.Errorf("a session whose copy was removed is not told: %v", err)
	}
	must(t, other.end(t.Context(), func(*Head) {}))
}

// The lease that was taken for a session goes back by its token alone.
func TestRelease(t *testing.T) {
	dir := t.TempDir()
	url := "file://" + dir
	place, err := open(t.Context(), url)
	must(t, err)
	who := claimant{mine: &Head{Format: headFormat, ID: "a", Place: "p"}, lease: Lease{Token: "mine"}}
	_, err = who.claim(t.Context(), place)
	must(t, err)
	for _, c := range []struct {
		token string
		ended bool
	}{{"another", false}, {"mine", true}, {"mine", true}} {
		must(t, Release(t.Context(), url, c.token))
		if found, err := Find(t.Context(), url); err != nil || found.Who.Lease.Ended != c.ended {
			t.Errorf("released by %s: %+v, %v", c.token, found.Who.Lease, err)
		}
	}
}
