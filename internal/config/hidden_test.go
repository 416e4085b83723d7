package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A large file is read in time that grows with its size alone.
func TestLargeFileIsReadAtOnce(t *testing.T) {
	text := `{"hide": [` + strings.Repeat("\n\"a\",", 150_000) + `"b"]}`
	begun := time.Now()
	s, err := (&source{name: "f", dir: "/ws"}).read([]byte(text))
	if err != nil || len(s.Hide) != 150_001 || s.Hide[150_000].Origin != "f:150001" {
		t.Fatal(err, len(s.Hide))
	}
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Patterns have bounds.
func TestExpandIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 70 {
		if err := os.MkdirAll(filepath.Join(dir, fmt.Sprint(i)), 0o755); err != nil {
			t.Fatal(err)
		}
		for j := range 70 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i), fmt.Sprint("f", j)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := Expand([]Entry{{dir + "/1/f?", "x"}, {"/no/such", "x"}, {dir + "/[23]/f1", "x"}})
	if err != nil || len(got) != 10+1+2 || !slices.Contains(got, dir+"/3/f1") || !slices.Contains(got, "/no/such") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Expand([]Entry{{dir + "/*/*", "x:1"}}); err == nil || !strings.Contains(err.Error(), "x:1: hide") || !strings.Contains(err.Error(), "more than 4096 paths") {
		t.Error(err)
	}
}
