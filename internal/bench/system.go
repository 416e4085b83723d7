package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// system is a way to give processes a tree of their own over a fixture.
type system struct {
	name string
	wire string // by which its requests go, if that is known
	// seldom: measured in every other repetition, because it is there to set art's figures in relation.
	seldom bool
	// named: measured only where -systems names it.
	named bool
	// missing says why it cannot be used here; "" if it can.
	missing func() string
	// open shows the fixture in base, which it leaves as it is. What it writes goes to scratch, an
	// empty directory. It cleans up after itself if it fails. It is nil where only operations are measured.
	open func(base, scratch string) (*session, error)
	// uncached is a server that mounts a new file system at dir, of which the kernel may keep nothing; or nil.
	uncached func(dir, memory string) *exec.Cmd
}

// The systems' names.
const (
	hostName        = "host"
	overlayName     = "overlayfs"
	fuseOverlayName = "fuse-overlayfs"
	artName         = "art" // over io_uring
	artDeviceName   = "art-device"
	historyName     = "art-history"    // over /dev/fuse, with a checkpoint each second
	noHistoryName   = "art-no-history" // the same without any
	replicatedName  = "art-replicated" // over /dev/fuse, and copied meanwhile
	libfuseName     = "libfuse"        // over io_uring
	libfuseDevice   = "libfuse-device"
)

// session is a system in use. A worker runs inside.
type session struct {
	home   string // as it is called inside
	goroot string
	server *process // what serves the file system, or nil
	copier *watched // what copies the database, or nil
	told   *told    // the session's standard error

	worker   *exec.Cmd
	requests io.WriteCloser
	in       *json.Encoder
	answers  *json.Decoder
	unmount  func() error // after the worker has ended; nil if there is nothing to do
}

// startWorker starts cmd, which becomes a worker, and talks to it.
func (s *session) startWorker(cmd *exec.Cmd) error {
	s.told = &told{}
	cmd.Stderr = s.told
	requests, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	s.worker, s.requests = cmd, requests
	s.in, s.answers = json.NewEncoder(requests), json.NewDecoder(answers)
	_, err = s.run("")
	return err
}

// run runs a script in the workspace.
func (s *session) run(script string) (answer, error) {
	ws := filepath.Join(s.home, workspaceName)
	var a answer
	err := s.in.Encode(request{Script: script, Dir: ws, Env: environment(s.home, s.goroot)})
	if err == nil {
		err = s.answers.Decode(&a)
	}
	if err != nil {
		return a, fmt.Errorf("talk to the worker: %w: %s", err, s.told)
	}
	if a.Error != "" {
		return a, fmt.Errorf("run %q: %s", script, a.Error)
	}
	return a, nil
}

// close ends the session. For art, all that was written is then in the database.
func (s *session) close() error {
	var err error
	if s.worker != nil {
		s.requests.Close()
		if err = s.worker.Wait(); err != nil {
			err = fmt.Errorf("end the worker: %w: %s", err, s.told)
		}
		s.worker = nil
	}
	if s.unmount != nil {
		if uerr := s.unmount(); err == nil {
			err = uerr
		}
		s.unmount = nil
	}
	return err
}

// outside is a session on a directory of the host.
func outside(home, goroot string) (*session, error) {
	s := &session{home: home, goroot: goroot}
	if err := s.startWorker(exec.Command(filepath.Join(home, workspaceName, workerName), "worker")); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// hostSystem works on a copy of the fixture.
func hostSystem(goroot string) *system {
	return &system{
		name:    hostName,
		seldom:  true,
		missing: func() string { return "" },
		open: func(base, scratch string) (*session, error) {
			home := filepath.Join(scratch, "home")
			if err := command("cp", "-a", base, home); err != nil {
				return nil, err
			}
			return outside(home, goroot)
		},
	}
}

// overlaySystem is the kernel's overlayfs, as it is set up without further options.
func overlaySystem(goroot string) *system {
	return &system{
		name: overlayName,
		missing: func() string {
			if os.Getuid() != 0 {
				return "only root may mount it"
			}
			return ""
		},
		open: func(base, scratch string) (*session, error) {
			merged, options, err := layers(base, scratch)
			if err != nil {
				return nil, err
			}
			if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
				return nil, fmt.Errorf("mount overlayfs: %w", err)
			}
			return mounted(merged, goroot, func() error { return unmount(merged) })
		},
	}
}

// fuseOverlaySystem is fuse-overlayfs, as it is set up without further options.
func fuseOverlaySystem(goroot string) *system {
	return &system{
		name:    fuseOverlayName,
		seldom:  true,
		missing: func() string { return notFound("fuse-overlayfs") },
		open: func(base, scratch string) (*session, error) {
			merged, options, err := layers(base, scratch)
			if err != nil {
				return nil, err
			}
			server := exec.Command("fuse-overlayfs", "-f", "-o", options, merged)
			end, err := startServer(server, merged)
			if err != nil {
				return nil, err
			}
			s, err := mounted(merged, goroot, end)
			if err == nil {
				s.server = &process{pid: server.Process.Pid}
			}
			return s, err
		},
	}
}

// mounted is a session on a mount, which it unmounts at the end.
func mounted(dir, goroot string, end func() error) (*session, error) {
	s, err := outside(dir, goroot)
	if err != nil {
		end()
		return nil, err
	}
	s.unmount = end
	return s, nil
}

// layers makes the directories of an overlay, whose options are those of overlayfs.
func layers(base, scratch string) (merged, options string, err error) {
	upper, work, merged := filepath.Join(scratch, "upper"), filepath.Join(scratch, "work"), filepath.Join(scratch, "merged")
	for _, dir := range []string{upper, work, merged} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return "", "", fmt.Errorf("make the layers: %w", err)
		}
	}
	return merged, "lowerdir=" + base + ",upperdir=" + upper + ",workdir=" + work, nil
}

// unmount unmounts dir, also for a user who needs fusermount3 for it. A mount that is still in use
// is tried again: what was closed last may not have arrived.
func unmount(dir string) error {
	var err error
	for range 100 {
		if err = unix.Unmount(dir, 0); err == nil {
			return nil
		}
		if errors.Is(err, syscall.EPERM) {
			if err = command("fusermount3", "-u", dir); err == nil {
				return nil
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("unmount %s: %w", dir, err)
}

func mountPoint(dir string) bool {
	var here, above unix.Stat_t
	return unix.Stat(dir, &here) == nil && unix.Stat(filepath.Dir(dir), &above) == nil && here.Dev != above.Dev
}

func notFound(name string) string {
	if _, err := exec.LookPath(name); err != nil {
		return name + " is not installed"
	}
	return ""
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}
