package desktop

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/fakebus"
)

func TestNotify(t *testing.T) {
	bus := fakebus.Start(t)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	if err := Notify(t.Context(), &control.Notification{Title: "ws: sh", Text: "it waits"}); err != nil {
		t.Fatal(err)
	}
	if got := <-bus.Shown; !slices.Equal(got, []string{"art", "ws: sh", "it waits"}) {
		t.Errorf("it shows %q", got)
	}
}

// A bus that is not there, or says nothing, is an error in time.
func TestNoBus(t *testing.T) {
	for address, want := range map[string]string{"unix:path=/nonexistent/bus": "no such file", fakebus.StartMute(t): "it does not answer"} {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err := Notify(ctx, &control.Notification{Title: "ws", Text: "it waits"})
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "notify the desktop: ") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
