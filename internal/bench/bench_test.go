package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test be the worker, which is a copy of the running program, and the server that
// a benchmark needs.
func TestMain(m *testing.M) {
	others()
	os.Exit(m.Run())
}

// programs is a directory that has them.
func programs(t *testing.T, names ...string) string {
	if bin := os.Getenv("ART_TEST_BIN"); bin != "" {
		return bin
	}
	args := []string{"build", "-o", t.TempDir() + "/"}
	for _, name := range names {
		args = append(args, "../../cmd/"+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return args[2]
}

// TestRun runs a workload on every system that is there; art over /dev/fuse always is.
func TestRun(t *testing.T) {
	bin := programs(t, "art", "art-fuse")
	r, err := newRunner(&options{bin: bin, dir: t.TempDir(), repetitions: 2, limit: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer r.lock.Close()
	w := workload{fixture: "empty", setup: `test "$PWD" = "$WS"; echo old >file`, steps: []step{
		{name: "first", script: `"$WORKER" write -size 10 first`},
		{name: "tiny", cache: warm, prepare: `test $(wc -c <first) = 10`,
			script: `sleep 0.02; test "$(cat file)" = old; "$WORKER" write -size 100000 big; test $(wc -c <big) = 100000`},
	}}
	for _, err := range r.rounds(context.Background(), []workload{w}, bin, func(string) bool { return false }) {
		t.Error(err)
	}
	if !r.has(artDeviceName) || !r.has(hostName) {
		t.Errorf("measured %v", r.report.Systems)
	}
	for _, s := range r.systems {
		if s.open == nil {
			continue
		}
		want := 2
		if s.seldom {
			want = 1
		}
		if samples := r.report.of("first", s.name); len(samples) != want || samples[0].Wall == 0 || samples[0].ToDisk != 0 {
			t.Errorf("%s: the first step: %+v", s.name, samples)
		}
		samples := r.report.of("tiny, warm", s.name)
		if len(samples) != want {
			t.Errorf("%s: %d samples, want %d", s.name, len(samples), want)
		}
		for _, f := range samples {
			if f.Wall < 20*time.Millisecond || f.ToDisk < f.Wall {
				t.Errorf("%s: %v inside, %v to disk", s.name, f.Wall, f.ToDisk)
			}
			if s.wire != "" && (f.ServerPeak == 0 || f.Database < 100000 || f.Requests == 0) {
				t.Errorf("art-fuse is not watched: %+v", f)
			}
		}
	}
	if left, err := os.ReadDir(r.scratch); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	base, err := r.fixtures.get("empty")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(base, workspaceName, "big")); err == nil {
		t.Error("the fixture was written to")
	}
}

// A session that is copied is measured with what copies it, to its end.
func TestReplicated(t *testing.T) {
	bin, to := programs(t, "art", "art-fuse", "art-replicate"), t.TempDir()
	r, err := newRunner(&options{bin: bin, dir: t.TempDir(), repetitions: 1, limit: time.Hour, systems: replicatedName, replicate: "file://" + to})
	if err != nil {
		t.Fatal(err)
	}
	defer r.lock.Close()
	w := workload{fixture: "empty", steps: []step{{name: "append", script: `"$WORKER" append -n 10 log; test $(wc -c <log) = 10240`}}}
	for _, err := range r.rounds(context.Background(), []workload{w}, bin, func(string) bool { return false }) {
		t.Error(err)
	}
	if samples := r.report.of("append", replicatedName); len(samples) != 1 || samples[0].CopierCPU == 0 || samples[0].CopierPeak == 0 {
		t.Errorf("art-replicate is not watched: %+v", samples)
	}
	if heads, _ := filepath.Glob(to + "/*/ws/art-*.json"); len(heads) != 1 {
		t.Errorf("the copy is not where it was to be: %q", heads)
	}
}

func TestFailingStepIsNoSample(t *testing.T) {
	r, err := newRunner(&options{bin: t.TempDir(), dir: t.TempDir(), repetitions: 3, limit: time.Hour, systems: hostName})
	if err != nil {
		t.Fatal(err)
	}
	defer r.lock.Close()
	wrong := workload{fixture: "empty", steps: []step{{name: "right", script: "true"}, {name: "wrong", script: `echo why it failed >&2; false; true`}}}
	errs := r.rounds(context.Background(), []workload{wrong}, "", func(string) bool { return false })
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "why it failed") {
		t.Errorf("errors: %v", errs)
	}
	if len(r.report.Samples) != 0 { // and it is not tried again
		t.Errorf("samples: %+v", r.report.Samples)
	}
}

func TestChoose(t *testing.T) {
	there := func() string { return "" }
	all := []*system{{name: "a", missing: there}, {name: "b", missing: func() string { return "broken" }}, {name: "c", missing: there}}
	for list, want := range map[string]string{"": "a c", "c,a": "c a", "b": "error", "d": "error", "a,": "error"} {
		chosen, err := choose(all, list)
		var names []string
		for _, s := range chosen {
			names = append(names, s.name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", list, got, want)
		}
	}
}

// TestWorkloads finds what would only show after an hour: two of one name, or no fixture.
func TestWorkloads(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range workloads {
		for _, s := range w.steps {
			if seen[s.title()] {
				t.Errorf("%s is there twice", s.title())
			}
			seen[s.title()] = true
		}
		if _, err := fixtureScripts.ReadFile("fixtures/" + w.fixture + ".sh"); err != nil {
			t.Errorf("%s: %v", w, err)
		}
	}
}

// What is not asked for runs only where something asked for needs it.
func TestOnly(t *testing.T) {
	w := workload{steps: []step{{name: "make"}, {name: "read", cache: cold}, {name: "read", cache: warm}, {name: "delete"}}}
	for chosen, want := range map[string]string{
		"make": "make", "read, warm": "(make) read, warm", "read, cold": "(make) read, cold", "delete": "(make) delete", "other": "",
	} {
		var got []string
		for _, s := range w.only(func(title string) bool { return title == chosen }).steps {
			title := s.title()
			if s.untold {
				title = "(" + title + ")"
			}
			got = append(got, title)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", chosen, got, want)
		}
	}
}

func TestWorkerAnswersEveryRequest(t *testing.T) {
	in := strings.NewReader(`{"script":"test $A = 1","dir":"/","env":["A=1"]}` + "\n" + `{"script":"echo no; exit 3","dir":"/"}` + "\n")
	var out bytes.Buffer
	if err := work(in, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || strings.Contains(lines[0], "error") || !strings.Contains(lines[1], `exit status 3: no`) {
		t.Errorf("answers: %s", &out)
	}
}

func TestParseUsage(t *testing.T) {
	stat := "42 (a) b) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 5 0 100 1000 200 0"
	got, err := parseUsage("Name:\tx\nVmHWM:\t  2048 kB\n", []byte(stat))
	if want := (usage{2 << 20, 2 * time.Second}); err != nil || got != want {
		t.Errorf("got %v %v, want %v", got, err, want)
	}
	if _, err := parseUsage("Name:\tx\n", []byte(stat)); err == nil {
		t.Error("a process without memory is taken for a live one")
	}
}

func TestSumOperations(t *testing.T) {
	if sum, err := sumOperations(" LookUpInode=12 ReadFile=3"); err != nil || sum != 15 {
		t.Error(sum, err)
	}
	if _, err := sumOperations("LookUpInode"); err == nil {
		t.Error("takes a kind without a number")
	}
}

func TestEnableRings(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may set a kernel's parameter")
	}
	parameter := filepath.Join(t.TempDir(), "enable_uring")
	for _, old := range []string{"", "N\n", "Y\n"} { // without one first
		if old != "" {
			if err := os.WriteFile(parameter, []byte(old), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		restore, err := enableRings(parameter)
		if err != nil {
			t.Fatal(err)
		}
		during, _ := os.ReadFile(parameter)
		if err := restore(); err != nil {
			t.Fatal(err)
		}
		after, _ := os.ReadFile(parameter)
		if (old != "") != strings.HasPrefix(string(during), "Y") || string(after) != old {
			t.Errorf("%q: %q during the run, %q after it", old, during, after)
		}
	}
}
