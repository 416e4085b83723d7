package replica

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An old generation goes when the one that is written has all of the database, and not before: those between may have nothing.
func TestPruneWaitsForAWholeCopy(t *testing.T) {
	dir := t.TempDir()
	place, err := open(t.Context(), "file://"+dir)
	must(t, err)
	who := claimant{mine: &Head{Format: headFormat, ID: "a", Place: "p"}, continues: map[string]string{}, lease: Lease{Token: "t"}}
	var all []*tenure
	for range 3 {
		tenure, err := who.claim(t.Context(), place)
		must(t, err)
		all = append(all, tenure)
		who.continues["p"] = all[0].generation.ID
	}
	copied := filepath.Join(dir, all[0].generation.dir(), "ltx/0/0000000000000001-0000000000000001.ltx")
	must(t, os.MkdirAll(filepath.Dir(copied), 0o700))
	must(t, os.WriteFile(copied, []byte("x"), 0o600))
	now := all[2]
	for i := range now.head.Generations[:2] {
		now.head.Generations[i].Began = time.Now().Add(-2 * retention)
	}
	j := &Job{tenure: now, whole: make(chan struct{})}
	ended, end := context.WithCancel(t.Context())
	end()
	j.prune(ended)
	if _, err := os.Stat(copied); err != nil {
		t.Fatalf("the only copy is gone: %v", err)
	}
	close(j.whole)
	j.prune(t.Context())
	if _, err := os.Stat(copied); err == nil {
		t.Error("the old generation is still there")
	}
	head, _, err := readHead(t.Context(), place.own)
	must(t, err)
	if n := len(head.Generations); n != 2 || head.newest() != now.generation.ID {
		t.Errorf("the head has %+v", head.Generations)
	}
}
