package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The two ways on which FUSE requests go, by the names that art's variable ART_WIRE has for them.
const (
	ringWire   = "io_uring"
	deviceWire = "device"
)

// ringParameter says whether the kernel passes FUSE requests over io_uring to those who ask for it (fs/fuse/inode.c, Linux 6.14).
const ringParameter = "/sys/module/fuse/parameters/enable_uring"

// enableRings sets the parameter, where it is there and may be set, and returns what sets it back.
func enableRings(parameter string) (restore func() error, err error) {
	nothing := func() error { return nil }
	old, err := os.ReadFile(parameter)
	if err != nil || os.Getuid() != 0 || strings.TrimSpace(string(old)) == "Y" {
		return nothing, nil //nolint:nilerr // missingRings says that it is missing
	}
	if err := os.WriteFile(parameter, []byte("Y"), 0); err != nil {
		return nothing, fmt.Errorf("have FUSE over io_uring: %w", err)
	}
	return func() error { return os.WriteFile(parameter, old, 0) }, nil
}

// missingRings says why a wire cannot be used; "" if it can.
func missingRings(wire string) string {
	if wire != ringWire {
		return ""
	}
	text, err := os.ReadFile(ringParameter)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "the kernel has no FUSE over io_uring (Linux 6.14), or fuse is a module that is not loaded"
	case err != nil:
		return err.Error()
	case strings.TrimSpace(string(text)) != "Y":
		return ringParameter + " is not Y"
	}
	return ""
}

// checkWire sees that a server has the wire that is to be measured: each falls back to /dev/fuse by itself.
func checkWire(pid int, wire string) error {
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return err
	}
	has := deviceWire
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == "anon_inode:[io_uring]" {
			has = ringWire
		}
	}
	if has != wire {
		return fmt.Errorf("requests go over %s, not %s", has, wire)
	}
	return nil
}
