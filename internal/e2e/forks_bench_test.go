package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// ofForks are ways to have eight forks of a database, and the first ls in each, as one types them. Those that are called plain have eight
// new databases in the place of forks: what is left when forks cost nothing.
var ofForks = []struct{ name, script string }{
	{"fork-8-times", `for n in $all; do art fork -q f$n -d a.db; done`},
	{"fork", `art fork -q $forks -d a.db`},
	{"fork-inspect", `art fork -q $forks -d a.db; for n in $all; do art-fuse ls a+f$n.db /ws; done`},
	{"fork-inspect-together", `art fork -q $forks -d a.db; for n in $all; do art-fuse ls a+f$n.db /ws & done; wait`},
	{"fork-sessions", `art fork -q $forks -d a.db; for n in $all; do art -q -i=false -m ws -d a+f$n.db -- ls; done`},
	{"fork-sessions-together", `art fork -q $forks -d a.db; for n in $all; do art -q -i=false -m ws -d a+f$n.db -- ls & done; wait`},
	{"try", `art try -q -n 8 --name f -m ws -d a.db -- ls`},
	{"plain-sessions", `for n in $all; do art -q -i=false -m ws -d p$n.db -- ls; done`},
	{"plain-sessions-together", `for n in $all; do art -q -i=false -m ws -d p$n.db -- ls & done; wait`},
}

// BenchmarkForks measures how long eight forks of a database of 100,000 files take, from the shell, until ls was there in each, and how
// much of the disk they take.
func BenchmarkForks(b *testing.B) {
	top := b.TempDir()
	sh := func(script string) time.Duration {
		cmd := exec.Command("sh", "-ec", "all='1 2 3 4 5 6 7 8' forks='f1 f2 f3 f4 f5 f6 f7 f8'; exec >>out 2>&1; "+script)
		cmd.Dir = top
		cmd.Env = append(os.Environ(), "HOME="+top, "XDG_RUNTIME_DIR="+filepath.Join(top, "run"), "PATH="+bin+":"+os.Getenv("PATH"), "ART_LIBEXEC_DIR="+bin)
		begun := time.Now()
		if err := cmd.Run(); err != nil {
			said, _ := os.ReadFile(filepath.Join(top, "out"))
			b.Fatalf("%s: %v\n%s", script, err, said)
		}
		return time.Since(begun)
	}
	sh(`mkdir ws run; chmod 700 run
		art -q -i=false -m ws -d a.db -- sh -c 'for i in $(seq 100); do mkdir d$i; (cd d$i; for j in $(seq 1000); do echo $i >$j; done); done'`)
	times := map[string][]float64{}
	for b.Loop() {
		for _, way := range ofForks {
			took := sh(way.script)
			times[way.name] = append(times[way.name], float64(took.Microseconds())/1000)
			sh(`for n in $all; do if [ -e a+f$n.db ]; then art rm -q --force a+f$n.db; fi; if [ -e a+f-$n.db ]; then art rm -q --force a+f-$n.db; fi; done; rm -f p?.db`)
		}
	}
	for name, all := range times {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], name+"-ms")
	}
	sh(`art fork -q $forks -d a.db`)
	var size int64
	for n := 1; n <= 8; n++ {
		info, err := os.Stat(filepath.Join(top, fmt.Sprintf("a+f%d.db", n)))
		if err != nil {
			b.Fatal(err)
		}
		size += info.Sys().(*syscall.Stat_t).Blocks * 512
	}
	b.ReportMetric(float64(size)/8, "bytes/fork")
}
