package view

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// What tells of the whole machine, or lets programs on it be told apart by when they run, and is of no use to
// a guest. It is the list of the containers' runtimes (https://docs.docker.com/reference/compose-file/services/,
// security_opt systempaths; oci/defaults.go in github.com/moby/moby).
var (
	maskedFiles = []string{
		"/proc/interrupts", "/proc/kallsyms", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug",
		"/proc/timer_list", "/proc/timer_stats",
	}
	maskedDirs = []string{"/proc/acpi", "/proc/asound", "/proc/scsi"}
)

// ProcCovers are the paths in /proc that a guest does not get as they are. One that is not there is fine.
type ProcCovers struct {
	Files, Dirs []string // show as empty
	Guarded     []string // are read-only
}

// ProcCovers returns what to take from the guest of the /proc at dir.
//
// The kernel takes the guest of root for the owner of all that is no process's: it may change modes, which show
// in every /proc of the machine (fs/proc/generic.c, proc_notify_change), and write settings whatever user
// namespace it lives in (fs/proc/proc_sysctl.c, test_perm), one of which, kernel.core_pattern, names a program
// that the host runs. So bubblewrap makes all of /proc read-only in the end (readOnlyProc), also what a process
// could write of its own, since /proc/PID/net is the network's. A sandbox within has to write there (uid_map),
// so where it may be, only what is no process's is read-only.
//
// Another user's guest may change none of that but settings that everyone may (kernel.ns_last_pid). One that may make
// namespaces keeps it all, or it could not mount a /proc for a sandbox of its own (fs/namespace.c, mount_too_revealing).
func (v *View) ProcCovers(dir string) (*ProcCovers, error) {
	if !v.CallerIsRoot {
		if v.Nests {
			return &ProcCovers{}, nil
		}
		return &ProcCovers{Files: maskedFiles, Dirs: maskedDirs, Guarded: []string{"/proc/sys"}}, nil
	}
	p := &ProcCovers{Files: maskedFiles, Dirs: maskedDirs}
	if v.readOnlyProc() {
		return p, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("guard /proc: %w", err)
	}
	for _, entry := range entries {
		if _, notProcess := strconv.Atoi(entry.Name()); notProcess != nil && entry.Type()&os.ModeSymlink == 0 {
			p.Guarded = append(p.Guarded, filepath.Join("/proc", entry.Name()))
		}
	}
	return p, nil
}

// readOnlyProc says whether nothing in /proc may be changed. Bubblewrap itself writes there before it comes to that.
func (v *View) readOnlyProc() bool { return v.CallerIsRoot && !v.Nests }

// args are the options of bubblewrap for a /proc that it has mounted.
func (p *ProcCovers) args() (args []string) {
	for _, path := range p.Guarded {
		if exists(path) {
			args = append(args, "--ro-bind", path, path)
		}
	}
	for _, path := range p.Files {
		if exists(path) {
			args = append(args, "--ro-bind", os.DevNull, path)
		}
	}
	for _, path := range p.Dirs {
		if exists(path) {
			args = append(args, "--tmpfs", path, "--remount-ro", path)
		}
	}
	return args
}
