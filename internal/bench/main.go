package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const help = `usage: bench [flags]

Measure art, with its requests over io_uring (art) and over /dev/fuse
(art-device), against the host's file system, the kernel's overlayfs and
fuse-overlayfs; and single operations with caches off against libfuse's
passthrough_ll on both, where LIBFUSE_PASSTHROUGH says where that is. As root
all of it; as another user without overlayfs and without what needs cold
caches. Root turns FUSE over io_uring on for as long as the run takes.
Anything else that runs on the machine shows in the figures. SIGINT ends it
early, and what it has found by then is shown, in the format of Go's
benchmarks, a line for each sample: benchstat -col /system FILE makes a table
of it.

  -run REGEXP     only the workloads whose name matches; those that take long,
                  which -list shows in brackets, run only if it names them
  -n N            repetitions (default 5); the host's file system and
                  fuse-overlayfs take part in every other
  -limit TIME     begin no repetition that would end later (default 22m)
  -systems LIST   of host,overlayfs,fuse-overlayfs,art,art-device,libfuse,
                  libfuse-device (default: all of these that there are), and
                  art-history and art-no-history: art over /dev/fuse with a
                  checkpoint each second, and without any; and
                  art-replicated: art over /dev/fuse that copies its database
  -replicate URL  where art-replicated copies to: below that (default: a
                  directory beside the database)
  -bin DIR        where the programs are (default .build/bin)
  -dir DIR        where fixtures are kept and the work is done: some 5 GB, on
                  the file system to measure (default: art-bench in the
                  user's cache directory)
  -o FILE        write the samples there instead of to standard output
  -svg FILE       draw the medians
  -keep           keep the fixtures for the next run (default true)
  -list           name the workloads and stop
`

type options struct {
	run, systems, bin, dir, out, svg, replicate string
	repetitions                                 int
	limit                                       time.Duration
	keep, list                                  bool
}

func main() {
	others()
	var o options
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&o.run, "run", "", "")
	set.StringVar(&o.systems, "systems", "", "")
	set.StringVar(&o.replicate, "replicate", "", "")
	set.StringVar(&o.bin, "bin", ".build/bin", "")
	set.StringVar(&o.dir, "dir", "", "")
	set.StringVar(&o.out, "o", "", "")
	set.StringVar(&o.svg, "svg", "", "")
	set.IntVar(&o.repetitions, "n", 5, "")
	set.DurationVar(&o.limit, "limit", 22*time.Minute, "")
	set.BoolVar(&o.keep, "keep", true, "")
	set.BoolVar(&o.list, "list", false, "")
	switch err := set.Parse(os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(help)
		return
	case err != nil || set.NArg() > 0 || o.repetitions < 1:
		fmt.Fprint(os.Stderr, help)
		os.Exit(2)
	}
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	finish(bench(ctx, o, os.Stdout))
}

// others is what this program is besides the one that measures.
func others() {
	if filepath.Base(os.Args[0]) == workerName {
		finish(workerMain(os.Args[1:]))
	}
	if len(os.Args) == 4 && os.Args[1] == serverName {
		finish(serveMain(os.Args[2:]))
	}
}

// finish ends the program.
func finish(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func bench(ctx context.Context, o options, out io.Writer) (err error) {
	chosen, err := regexp.Compile(o.run)
	if err != nil {
		return fmt.Errorf("read -run: %w", err)
	}
	if o.list {
		for _, w := range workloads {
			for _, s := range w.steps {
				if w.alone {
					fmt.Fprintf(out, "[%s]\n", s.title())
				} else {
					fmt.Fprintln(out, s.title())
				}
			}
		}
		for _, op := range operations {
			fmt.Fprintln(out, op.title())
		}
		return nil
	}
	restore, err := enableRings(ringParameter)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	r, err := newRunner(&o)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, removeScratch(r.scratch))
		defer r.lock.Close()
		if !o.keep {
			err = errors.Join(err, os.RemoveAll(o.dir))
		}
	}()
	if os.Getuid() != 0 {
		fmt.Fprintln(os.Stderr, "bench: without cold caches: only root may drop them")
	}
	var left []workload
	for _, w := range workloads {
		if w.alone && o.run == "" {
			continue
		}
		w = w.only(func(title string) bool {
			return chosen.MatchString(title) && (os.Getuid() == 0 || !strings.HasSuffix(title, ", "+cold.String()))
		})
		if len(w.steps) > 0 {
			left = append(left, w)
		}
	}
	if o.out != "" {
		f, err := os.Create(o.out)
		if err != nil {
			return err
		}
		defer f.Close()
		out = f
	}
	if err := r.report.writeHeader(out); err != nil {
		return err
	}
	errs := r.rounds(ctx, left, o.bin, chosen.MatchString)
	fmt.Fprintf(os.Stderr, "bench: done after %s\n%s", r.elapsed(), r.report.means(r.reference()))
	if err := r.show(&o, out); err != nil {
		return err
	}
	if len(errs) > 0 {
		return fmt.Errorf("%d measurements failed", len(errs))
	}
	return nil
}

// rounds measures everything once, and then again, so that what the machine does in an hour falls on
// all workloads, and a run that is ended early has found something about each.
func (r *runner) rounds(ctx context.Context, chosen []workload, bin string, start func(title string) bool) (errs []error) {
	tell := func(err error) {
		// At once: the whole takes long.
		fmt.Fprintln(os.Stderr, "bench:", err)
		errs = append(errs, err)
	}
	begins := make([]time.Time, r.repetitions)
	for i := range r.repetitions {
		begins[i] = time.Now()
		// The one before the last had the same systems.
		if j := max(0, i-2); i > 0 && time.Since(r.began)+begins[j+1].Sub(begins[j]) > r.limit {
			fmt.Fprintf(os.Stderr, "bench: %s: no repetition after %d: another would end later than -limit\n", r.elapsed(), i)
			break
		}
		for _, w := range chosen {
			fmt.Fprintf(os.Stderr, "bench: %s: %d of %d: %s\n", r.elapsed(), i+1, r.repetitions, w)
			for _, err := range r.round(ctx, w, i) {
				tell(err)
			}
			if ctx.Err() != nil {
				return errs
			}
		}
		fmt.Fprintf(os.Stderr, "bench: %s: %d of %d: single operations, starts\n", r.elapsed(), i+1, r.repetitions)
		for _, err := range r.measureOperations(ctx, i, start) {
			tell(err)
		}
		if err := r.measureStart(ctx, bin, start); err != nil {
			tell(err)
		}
		if ctx.Err() != nil {
			return errs
		}
	}
	return errs
}

func newRunner(o *options) (*runner, error) {
	if o.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find a directory to work in: %w", err)
		}
		o.dir = filepath.Join(cache, "art-bench")
	}
	for _, path := range []*string{&o.dir, &o.bin} {
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, err
		}
	}
	goroot, err := goEnv("GOROOT")
	if err != nil {
		return nil, err
	}
	modcache, err := goEnv("GOMODCACHE")
	if err != nil {
		return nil, err
	}
	goproxy, err := goEnv("GOPROXY")
	if err != nil {
		return nil, err
	}
	repo, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	systems, err := choose([]*system{
		hostSystem(goroot), overlaySystem(goroot), fuseOverlaySystem(goroot),
		artSystem(artName, o.bin, ringWire), artSystem(artDeviceName, o.bin, deviceWire),
		artHistory(historyName, o.bin, everySecond), artHistory(noHistoryName, o.bin, noCheckpoints), artReplicated(o.bin, o.replicate),
		libfuseSystem(libfuseName, ringWire), libfuseSystem(libfuseDevice, deviceWire),
	}, o.systems)
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(o.dir)
	if err != nil {
		return nil, err
	}
	scratch := filepath.Join(o.dir, "scratch")
	if err := removeScratch(scratch); err != nil {
		return nil, err
	}
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return nil, err
	}
	return &runner{
		fixtures: &fixtures{dir: filepath.Join(o.dir, "fixtures"), goroot: goroot, modcache: modcache, goproxy: goproxy, repo: repo},
		scratch:  scratch, lock: lock, systems: systems, repetitions: o.repetitions, limit: o.limit, report: newReport(o.bin, systems), began: time.Now(),
	}, nil
}

// choose returns the systems that are named in a list, or with an empty one those that are there.
func choose(all []*system, list string) ([]*system, error) {
	var chosen []*system
	if list == "" {
		for _, s := range all {
			if s.named {
				continue
			}
			if why := s.missing(); why != "" {
				fmt.Fprintf(os.Stderr, "bench: without %s: %s\n", s.name, why)
				continue
			}
			chosen = append(chosen, s)
		}
		return chosen, nil
	}
names:
	for name := range strings.SplitSeq(list, ",") {
		for _, s := range all {
			if s.name == name {
				if why := s.missing(); why != "" {
					return nil, fmt.Errorf("measure %s: %s", name, why)
				}
				chosen = append(chosen, s)
				continue names
			}
		}
		return nil, fmt.Errorf("measure %q: there is no such system", name)
	}
	return chosen, nil
}

func (r *runner) has(name string) bool {
	for _, s := range r.systems {
		if s.name == name {
			return true
		}
	}
	return false
}

// show prints the samples, and draws the chart if that was asked for.
func (r *runner) show(o *options, out io.Writer) error {
	if err := r.report.write(out); err != nil {
		return err
	}
	if o.svg == "" {
		return nil
	}
	f, err := os.Create(o.svg)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := r.report.writeSVG(f, r.reference()); err != nil {
		return err
	}
	return f.Close()
}

// reference is the system with which the others are compared.
func (r *runner) reference() string {
	if r.has(overlayName) {
		return overlayName
	}
	return hostName
}

func (r *runner) elapsed() time.Duration { return time.Since(r.began).Round(time.Second) }

func goEnv(name string) (string, error) {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("ask go for %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}
