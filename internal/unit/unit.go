// Package unit makes a session a unit of systemd. It is in art-sync, as what speaks to the user's bus.
package unit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/processes"
)

const (
	service = "org.freedesktop.systemd1"
	manager = service + ".Manager"
	path    = "/org/freedesktop/systemd1"
)

// Scope has the user's manager, or the system's for root, make a scope that a process is in from now on, with what that has
// started and will start (org.freedesktop.systemd1(5), systemd.scope(5)).
func Scope(ctx context.Context, s *control.Scope) error {
	connect := dbus.SessionBusPrivateNoAutoStartup
	if os.Getuid() == 0 {
		connect = dbus.SystemBusPrivate
	}
	if err := scope(ctx, s, connect); err != nil {
		if ctx.Err() != nil {
			err = errors.New("it does not answer")
		}
		return cli.WithHint(fmt.Errorf("make the session a unit of systemd: %w", err), "leave --systemd out, or log in where systemd runs your manager")
	}
	return nil
}

func scope(ctx context.Context, s *control.Scope, connect func(...dbus.ConnOption) (*dbus.Conn, error)) error {
	conn, err := connect(dbus.WithContext(ctx))
	if err != nil {
		return err
	}
	defer conn.Close()
	// A bus that says nothing must not keep anybody waiting.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.Auth(nil); err != nil {
		return fmt.Errorf("connect to the bus: %w", err)
	}
	if err := conn.Hello(); err != nil {
		return fmt.Errorf("connect to the bus: %w", err)
	}
	// The process is in it when the job is done.
	if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface(manager), dbus.WithMatchMember("JobRemoved")); err != nil {
		return err
	}
	signals := make(chan *dbus.Signal, 64)
	conn.Signal(signals)
	object := conn.Object(service, path)
	if err := object.CallWithContext(ctx, manager+".Subscribe", 0).Err; err != nil {
		return err
	}
	type property struct {
		Name  string
		Value dbus.Variant
	}
	type auxiliary struct {
		Name       string
		Properties []property
	}
	properties := []property{
		{"Description", dbus.MakeVariant(s.Description)},
		{"PIDs", dbus.MakeVariant(append([]uint32{uint32(s.PID)}, started(s.PID, nil)...))},
		// art makes groups of its own there for the limits of its settings.
		{"Delegate", dbus.MakeVariant(true)},
		{"CollectMode", dbus.MakeVariant("inactive-or-failed")},
	}
	var job dbus.ObjectPath
	err = object.CallWithContext(ctx, manager+".StartTransientUnit", 0, s.Name, "fail", properties, []auxiliary{}).Store(&job)
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case signal, ok := <-signals:
			switch {
			case !ok:
				return errors.New("the bus has gone")
			case len(signal.Body) != 4 || signal.Body[1] != job:
			case signal.Body[3] != "done":
				return fmt.Errorf("start %s: %v", s.Name, signal.Body[3])
			default:
				return follow(ctx, object, s)
			}
		}
	}
}

// follow brings into the scope what its processes have started elsewhere meanwhile.
func follow(ctx context.Context, object dbus.BusObject, s *control.Scope) error {
	for seen := map[int]bool{}; ; {
		late := started(s.PID, func(pid int) bool { return !seen[pid] && groupOf(pid) != groupOf(s.PID) })
		if len(late) == 0 {
			return nil
		}
		for _, pid := range late {
			seen[int(pid)] = true // it moves, or it has ended
		}
		if err := object.CallWithContext(ctx, manager+".AttachProcessesToUnit", 0, s.Name, "", late).Err; err != nil && len(started(s.PID, func(pid int) bool {
			return slices.Contains(late, uint32(pid)) && groupOf(pid) != groupOf(s.PID)
		})) > 0 {
			return err
		}
	}
}

// started returns what a process has started, and what that has, but for this process and what is not wanted.
func started(by int, want func(pid int) bool) (pids []uint32) {
	for _, p := range processes.Tree(by) {
		if p.PID != by && p.PID != os.Getpid() && (want == nil || want(p.PID)) {
			pids = append(pids, uint32(p.PID))
		}
	}
	return pids
}

// groupOf returns the control group of version 2 that a process is in, or "" if it has ended.
func groupOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for line := range strings.Lines(string(text)) {
		if group, ok := strings.CutPrefix(line, "0::"); ok { // cgroups(7)
			return group
		}
	}
	return ""
}
