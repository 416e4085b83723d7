package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/fusemount"
	"github.com/riverlytech/art/internal/replica/place"
	"github.com/riverlytech/art/internal/replica/remote"
	"github.com/riverlytech/art/sqlvfs"
)

type mountConfig struct {
	db, dir, base, name, fsname, at   string
	readWrite, allowOther, foreground bool
}

func runMount(c *flags.Command, args []string, _ io.Writer) error {
	var cfg mountConfig
	line, err := c.Parse(args, map[string]any{"base": &cfg.base, "name": &cfg.name, "fsname": &cfg.fsname, "at": &cfg.at,
		"read-write": &cfg.readWrite, "allow-other": &cfg.allowOther, "foreground": &cfg.foreground})
	if err != nil {
		return err
	}
	if cfg.at != "" && cfg.readWrite {
		return c.Wrong("what was there at a checkpoint cannot be changed: --at and --read-write exclude each other")
	}
	cfg.db, cfg.dir = line.Words[0], line.Words[1]
	if cfg.readWrite {
		if err := place.Here(cfg.db); err != nil {
			return err
		}
	}
	if cfg.base, cfg.name, err = workspace(cfg.base, cfg.name); err != nil {
		return err
	}
	if !cfg.foreground {
		return inBackground()
	}
	return mount(cfg)
}

// readyVariable names the descriptor on which a background server reports: one line "ready", or
// nothing, if it has said what is wrong and ended.
const readyVariable = "ART_FUSE_READY_FD"

// inBackground starts this command line again in a session of its own and returns when the mount
// is there.
func inBackground() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ready, report, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, slices.Insert(os.Args[1:], 1, "--foreground")...) // it comes before any --
	cmd.Env = append(os.Environ(), readyVariable+"=3")
	cmd.ExtraFiles = []*os.File{report}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	report.Close()
	if line, _ := io.ReadAll(ready); string(line) == "ready" {
		return nil
	}
	cmd.Wait()
	return reported{errors.New("the server has ended")}
}

// mount serves a database on a directory until it is unmounted.
func mount(cfg mountConfig) (err error) {
	dir, err := filepath.Abs(cfg.dir) // the server moves to another directory
	if err != nil {
		return err
	}
	if os.Getenv(readyVariable) != "" {
		unix.CloseOnExec(3) // it is no other program's
	}
	end, err := remote.Open(prog, cfg.db)
	if err != nil {
		return err
	}
	defer end(&err)
	store, overlay, err := openOverlay(cfg.db, cfg.base, cfg.name, sqlvfs.Options{ReadOnly: !cfg.readWrite, Create: cfg.readWrite, At: cfg.at}, false, nil, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	opt := fusemount.Options{Source: cfg.fsname, ReadOnly: !cfg.readWrite, AllowOther: cfg.allowOther}
	if opt.Source == "" {
		opt.Source = store.Path()
	}
	fd, err := fusemount.Mount(dir, opt)
	if err != nil {
		return cli.WithHint(fmt.Errorf("mount on %s: %w", cfg.dir, err), mountHint(cfg))
	}
	mfs, err := fs.Serve(fd, overlay, nil, logf)
	if err != nil {
		_ = fusemount.Unmount(dir, true)
		return err
	}
	go unmountOnSignal(dir)
	if os.Getenv(readyVariable) != "" {
		if err := leave(); err != nil {
			logf("%v", err)
		}
	}
	if err := mfs.Join(context.Background()); err != nil {
		return fmt.Errorf("serve %s: %w", cfg.dir, err)
	}
	return store.Close()
}

// leave ends the ties of a background server with who started it: whoever reads its standard error
// to the end, or waits for its working directory, would wait for the mount.
func leave() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return fmt.Errorf("leave the terminal: %w", err)
		}
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	report := os.NewFile(3, "ready")
	defer report.Close()
	_, err = fmt.Fprint(report, "ready")
	return err
}

// unmountOnSignal ends the mount when the user interrupts the server. A directory that is in use
// stays mounted, and the next signal tries again.
func unmountOnSignal(dir string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	for range signals {
		if err := fusemount.Unmount(dir, false); err != nil {
			logf("unmount %s: %v", dir, err)
		}
	}
}

func mountHint(cfg mountConfig) string {
	if st, err := os.Stat(cfg.dir); err != nil || !st.IsDir() {
		return "make it first: mkdir " + cfg.dir
	}
	if cfg.allowOther && os.Getuid() != 0 {
		return "--allow-other needs the line user_allow_other in /etc/fuse.conf"
	}
	return "is fuse3 installed? it brings fusermount3"
}
