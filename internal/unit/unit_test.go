package unit

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/fakebus"
)

func TestScope(t *testing.T) {
	asked := &control.Scope{PID: 4711, Name: "art-4711.scope", Description: "art: ws"}
	bus := fakebus.Start(t)
	connect := func(options ...dbus.ConnOption) (*dbus.Conn, error) { return dbus.Dial(bus.Address, options...) }
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := scope(ctx, asked, connect); err != nil {
		t.Fatal(err)
	}
	if got := <-bus.Units; !slices.Equal(got, []string{"art-4711.scope", "fail", "[[Description \"art: ws\"] [PIDs @au [4711]] [Delegate true] [CollectMode \"inactive-or-failed\"]]"}) {
		t.Errorf("it was asked for %q", got)
	}
	asked.Name = "refused.scope"
	if err := scope(ctx, asked, connect); err == nil || err.Error() != "Unit refused.scope cannot be." {
		t.Errorf("a refusal is %v", err)
	}
	asked.Name = "failed.scope"
	if err := scope(ctx, asked, connect); err == nil || err.Error() != "start failed.scope: failed" {
		t.Errorf("a failure is %v", err)
	}
}

func TestNoManager(t *testing.T) {
	for address, want := range map[string]string{"unix:path=/nonexistent/bus": "no such file", fakebus.StartMute(t): "it does not answer"} {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
		t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err := Scope(ctx, &control.Scope{PID: 1, Name: "x.scope"})
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "make the session a unit of systemd: ") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
