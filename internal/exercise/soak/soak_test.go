package main

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

var duration = flag.Duration("duration", 12*time.Second, "how long to go on")

func TestSoak(t *testing.T) {
	bin := os.Getenv("ART_TEST_BIN")
	if bin == "" {
		bin = t.TempDir()
		out, err := exec.Command("go", "build", "-o", bin+"/", "github.com/riverlytech/art/cmd/...").CombinedOutput()
		if err != nil {
			t.Fatalf("building the programs: %v\n%s", err, out)
		}
	}
	if testing.Short() {
		*duration = 8 * time.Second
	}
	if err := run(bin, t.TempDir(), *duration, 2); err != nil {
		t.Fatal(err)
	}
}

// Each kind of growth is found; what only comes and goes is none.
func TestGrowth(t *testing.T) {
	for kind, name := range names {
		var steady, growing []sample
		for i := range int64(60) {
			up := slack[kind] / 4
			var a, b sample
			a[kind], b[kind] = 5*up+i%7*up/7, 5*up+i*up/2
			steady, growing = append(steady, a), append(growing, b)
		}
		if err := growth(steady); err != nil {
			t.Errorf("steady %s: %v", name, err)
		}
		if err := growth(growing); err == nil || !strings.Contains(err.Error(), name+" grows") {
			t.Errorf("growing %s: %v", name, err)
		}
	}
}
