package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An entry's origin is its line, however many there are.
func TestOriginsOfALargeFile(t *testing.T) {
	s, err := largeFile(150_000)
	if err != nil || len(s.Hide) != 150_001 || s.Hide[150_000].Origin != "f:150001" {
		t.Fatal(err, len(s.Hide))
	}
}

// BenchmarkLargeFile reads files of which the second has four times the lines of the first: so long it should take.
func BenchmarkLargeFile(b *testing.B) {
	for _, lines := range []int{20_000, 80_000} {
		b.Run(fmt.Sprint("lines=", lines), func(b *testing.B) {
			for b.Loop() {
				if _, err := largeFile(lines); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func largeFile(lines int) (*Settings, error) {
	return (&source{name: "f", dir: "/ws"}).read([]byte(`{"hide": [` + strings.Repeat("\n\"a\",", lines) + `"b"]}`))
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
