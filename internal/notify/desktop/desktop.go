// Package desktop shows notifications at the user's desktop, as org.freedesktop.Notifications has them:
// https://specifications.freedesktop.org/notification-spec.
package desktop

import (
	"context"
	"errors"
	"fmt"

	"github.com/godbus/dbus/v5"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
)

// Notify shows a notification.
func Notify(ctx context.Context, n *control.Notification) error {
	if err := notify(ctx, n); err != nil {
		return cli.WithHint(fmt.Errorf("notify the desktop: %w", err),
			`without one, a command of yours can be told: "notify": "COMMAND" in your settings`)
	}
	return nil
}

func notify(ctx context.Context, n *control.Notification) error {
	conn, err := dbus.SessionBusPrivateNoAutoStartup(dbus.WithContext(ctx)) // to start a bus would help nobody
	if err != nil {
		return err
	}
	defer conn.Close()
	// A bus that says nothing must not keep anybody waiting.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.Auth(nil); err != nil {
		return fmt.Errorf("connect to the user's bus: %w", late(ctx, err))
	}
	if err := conn.Hello(); err != nil {
		return fmt.Errorf("connect to the user's bus: %w", late(ctx, err))
	}
	object := conn.Object("org.freedesktop.Notifications", "/org/freedesktop/Notifications")
	hints := map[string]dbus.Variant{"desktop-entry": dbus.MakeVariant("art")}
	call := object.CallWithContext(ctx, "org.freedesktop.Notifications.Notify", 0,
		"art", uint32(0), "", n.Title, n.Text, []string{}, hints, int32(-1))
	return late(ctx, call.Err)
}

func late(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("it does not answer")
	}
	return err
}
