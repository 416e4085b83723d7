package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// runner runs workloads on systems.
type runner struct {
	fixtures    *fixtures
	scratch     string   // an empty directory on the file system that is measured
	lock        *os.File // held as long as the runner works
	systems     []*system
	repetitions int
	report      *report
	failed      map[trial]bool
	began       time.Time
	limit       time.Duration // for all repetitions
}

// trial is a workload, by its first step, on a system.
type trial struct{ workload, system string }

// round runs one workload once on each system, the i-th time, and adds what it finds to the report. A
// system on which it fails is left out for this workload from then on.
func (r *runner) round(ctx context.Context, w workload, i int) (errs []error) {
	base, err := r.fixtures.get(w.fixture)
	if err != nil {
		return []error{err}
	}
	for j := range r.systems {
		if ctx.Err() != nil {
			return append(errs, ctx.Err())
		}
		s := r.systems[(i+j)%len(r.systems)]
		this := trial{w.steps[0].title(), s.name}
		if s.open == nil || s.seldom && i%2 != 0 || r.failed[this] {
			continue
		}
		found, err := r.once(ctx, s, w, base)
		if err != nil {
			if r.failed == nil {
				r.failed = map[trial]bool{}
			}
			r.failed[this] = true
			errs = append(errs, fmt.Errorf("on %s: %w", s.name, err))
			continue
		}
		r.report.Samples = append(r.report.Samples, found...)
	}
	return errs
}

// once is one repetition on one system, in a session of its own.
func (r *runner) once(ctx context.Context, sys *system, w workload, base string) (found []sample, err error) {
	if err := load(base); err != nil {
		return nil, fmt.Errorf("read the fixture: %w", err)
	}
	scratch := filepath.Join(r.scratch, sys.name)
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return nil, err
	}
	defer func() {
		if rerr := removeScratch(scratch); err == nil {
			err = rerr
		}
	}()
	s, err := sys.open(base, scratch)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := s.close(); err == nil {
			err = cerr
		}
	}()
	if _, err := s.run(w.setup); err != nil {
		return nil, err
	}
	for i, step := range w.steps {
		if ctx.Err() != nil {
			return found, nil
		}
		one := sample{Part: workPart, Workload: step.title(), System: sys.name}
		err := s.prepare(step)
		if err == nil {
			err = s.time(step.script, scratch, i == len(w.steps)-1, &one)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.title(), err)
		}
		if !step.untold {
			found = append(found, one)
		}
	}
	return found, nil
}

// prepare does for a step what is not timed.
func (s *session) prepare(step step) error {
	if _, err := s.run(step.prepare); err != nil {
		return err
	}
	if step.cache == warm {
		for range warmings {
			if _, err := s.run(step.script); err != nil {
				return err
			}
		}
	}
	if step.atOnce {
		return nil
	}
	return settle(step.cache == cold)
}

// warmings is how often a step is run before caches are warm. Once is not enough for FUSE: to read a
// file or a directory makes the kernel doubt its access time, which it then asks for once more.
const warmings = 2

// time runs a script and notes what it took; to the end of the session, which it then ends, if it is
// the last one.
func (s *session) time(script, scratch string, last bool, found *sample) error {
	before, err := s.serverState(true)
	if err != nil {
		return err
	}
	begin := time.Now()
	a, err := s.run(script)
	outside := time.Since(begin)
	if err != nil {
		return err
	}
	found.Wall = a.Wall
	after, err := s.serverState(false)
	if err != nil {
		return err
	}
	if s.server != nil {
		found.ServerCPU = after.cpu - before.cpu
		found.ServerPeak = after.peak
		found.Requests = after.requests - before.requests
	}
	if last {
		begin := time.Now()
		if err := errors.Join(s.close(), syncFS(scratch)); err != nil {
			return err
		}
		found.ToDisk = outside + time.Since(begin)
		if s.copier != nil {
			<-s.copier.ended
			found.CopierCPU, found.CopierPeak = s.copier.last.cpu, s.copier.last.peak
		}
	}
	if st, err := os.Stat(filepath.Join(scratch, databaseName)); err == nil {
		found.Database = st.Size()
	}
	return nil
}

// serverState is what the server has done so far. With reset, its peak of memory counts from now on.
type serverState struct {
	usage
	requests int64
}

func (s *session) serverState(reset bool) (st serverState, err error) {
	if s.server == nil {
		return st, nil
	}
	if reset {
		if err := s.server.resetPeak(); err != nil {
			return st, err
		}
	}
	if s.server.requests != nil {
		if st.requests, err = s.server.requests(); err != nil {
			return st, err
		}
	}
	st.usage, err = s.server.usage()
	return st, err
}

// settle lets the disk finish what went before. With drop it also empties the kernel's caches of
// files (drop_caches in the kernel's admin-guide/sysctl/vm.rst), but for the tools themselves: to
// load those is the same work on all systems.
func settle(drop bool) error {
	unix.Sync()
	if !drop {
		return nil
	}
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
		return fmt.Errorf("drop caches: %w", err)
	}
	for _, tool := range []string{"sh", "cat", "find", "grep", "git"} {
		// Whether it knows the option does not matter.
		_ = exec.Command(tool, "--version").Run()
	}
	return nil
}

// syncFS waits until all of a file system is on the disk.
func syncFS(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd())))
}
