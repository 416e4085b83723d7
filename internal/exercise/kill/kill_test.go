package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

var (
	kills = flag.Int("kills", 10, "how many processes to kill")
	seed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random numbers")
)

// programs is the directory of those under test.
func programs(t *testing.T) string {
	if bin := os.Getenv("ART_TEST_BIN"); bin != "" {
		return bin
	}
	bin := t.TempDir()
	out, err := exec.Command("go", "build", "-o", bin+"/", "github.com/riverlytech/art/cmd/...").CombinedOutput()
	if err != nil {
		t.Fatalf("building the programs: %v\n%s", err, out)
	}
	return bin
}

func TestKill(t *testing.T) {
	n := *kills
	if testing.Short() {
		n = min(n, 3)
	}
	if err := run(programs(t), t.TempDir(), *seed, n); err != nil {
		t.Fatal(err)
	}
}

// What the exerciser is for: it misses what was promised and is not there, and what is not whole,
// and nothing else.
func TestKillFindsWhatIsLost(t *testing.T) {
	bin := programs(t)
	for _, c := range []struct {
		damage string
		says   promised
		want   string
	}{
		{"", promised{"storm": "4", "git": "-", "sqlite": "0"}, "file 4 was durable, and 3 is the last one"},
		{"", promised{"storm": "3", "git": "-", "sqlite": "9"}, "app.db is lost"},
		{"", promised{"storm": "3", "git": "deadbeef", "sqlite": "0"}, "commit deadbeef is lost"},
		{"echo 2 >storm1/2", promised{"storm": "3", "git": "-", "sqlite": "0"}, "storm1/2 is not whole"},
		// A first transaction that was cut short: SQLite rolls it back, and has no table.
		{"head -c 8192 /dev/zero >app.db; { printf '\\331\\325\\005\\371 \\241c\\327\\0\\0\\0\\0abcd\\0\\0\\0\\0\\0\\0\\2\\0\\0\\0\\20\\0'; head -c 484 /dev/zero; } >app.db-journal",
			promised{"storm": "3", "git": "-", "sqlite": "0"}, ""},
		{"rm storm1/2", promised{"storm": "1", "git": "-", "sqlite": "0"}, "are missing in between"},
	} {
		x, err := newExercise(bin, t.TempDir(), 1)
		if err != nil {
			t.Fatal(err)
		}
		x.rounds = 1
		out, err := x.command("art", "-q", "-i=false", "-m", x.workspace(), "-d", x.db(), "--",
			"sh", "-c", "mkdir storm1; for i in 1 2 3; do echo $i $i $i >storm1/$i; done;"+c.damage).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if err := x.verify(x.rounds, c.says); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q is not what was found: %v", c.want, err)
		}
		if left, _ := filepath.Glob(x.db() + "-*"); len(left) > 0 {
			t.Errorf("left beside the database: %v", left)
		}
	}
}

// It misses what a fork, or the database that it was made of, has lost, and forks that are not whole.
func TestKillFindsWhatForksLose(t *testing.T) {
	bin := programs(t)
	for _, c := range []struct {
		damage, want string
	}{
		{"DELETE FROM fs_dentry WHERE name='2'", "kill.db, which nothing was done to: check"},
		{"DELETE FROM art_fork", "does not know of this fork"},
		{"", ""},
	} {
		x, err := newExercise(bin, t.TempDir(), 1)
		if err != nil {
			t.Fatal(err)
		}
		x.rounds = 1
		out, err := x.command("art", "-q", "-i=false", "-m", x.workspace(), "-d", x.db(), "--",
			"sh", "-c", "mkdir storm1; for i in 1 2 3; do echo $i $i $i >storm1/$i; done").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		x.now.round, x.now.said = 1, promised{"storm": "3", "git": "-", "sqlite": "0"}
		for tries := 0; x.forks == 0; tries++ { // it may have been killed before it was made
			if err := x.fork(); err != nil {
				t.Fatal(err)
			}
			if tries > 100 {
				t.Fatal("no fork was made")
			}
		}
		db, err := sqlite3.Open(x.db())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Exec(c.damage), db.Close()); err != nil {
			t.Fatal(err)
		}
		if x.now = x.family[len(x.family)-1]; strings.Contains(c.damage, "fs_dentry") {
			for range 20 { // which one it looks at is left to chance
				err = errors.Join(err, x.others())
			}
		} else {
			err = x.check()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q is not what was found: %v", c.want, err)
		}
	}
}
