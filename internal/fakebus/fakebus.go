// Package fakebus is for tests: a bus on which there are a desktop that shows notifications, and a manager of units that
// starts what it is asked to but for "refused.scope" and "failed.scope".
package fakebus

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
)

// Bus is such a bus.
type Bus struct {
	// Address is for DBUS_SESSION_BUS_ADDRESS.
	Address string
	// Shown are the application, the title and the text of each notification, and Units the name, the mode and the
	// properties of each unit.
	Shown, Units chan []string
}

// Start starts a bus.
func Start(t testing.TB) *Bus {
	b := &Bus{Shown: make(chan []string, 100), Units: make(chan []string, 100)}
	b.Address = listen(t, b.serve)
	return b
}

// StartMute returns the address of a bus that accepts connections, and says nothing.
func StartMute(t testing.TB) string { return listen(t, func(net.Conn) {}) }

func listen(t testing.TB, serve func(net.Conn)) string {
	path := filepath.Join(t.TempDir(), "bus")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			go serve(conn)
		}
	}()
	return "unix:path=" + path
}

// serve does what https://dbus.freedesktop.org/doc/dbus-specification.html#auth-protocol asks for, and answers calls.
func (b *Bus) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		switch words := strings.Fields(strings.TrimLeft(line, "\x00")); {
		case len(words) == 0:
		case words[0] == "AUTH" && len(words) > 1:
			fmt.Fprint(conn, "OK 1234deadbeef1234deadbeef1234dead\r\n")
		case words[0] == "AUTH":
			fmt.Fprint(conn, "REJECTED EXTERNAL\r\n")
		case words[0] == "BEGIN":
			for err == nil {
				var call *dbus.Message
				if call, err = dbus.DecodeMessage(in); err == nil {
					err = b.answer(conn, call)
				}
			}
			return
		default:
			fmt.Fprint(conn, "ERROR\r\n")
		}
	}
}

// answer answers a call.
func (b *Bus) answer(out io.Writer, call *dbus.Message) error {
	reply := &dbus.Message{Type: dbus.TypeMethodReply, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldReplySerial: dbus.MakeVariant(call.Serial()),
		dbus.FieldSender:      dbus.MakeVariant("org.freedesktop.DBus"),
	}}
	switch member := call.Headers[dbus.FieldMember].Value(); member {
	case "Hello":
		reply.Body = []any{":1.1"}
	case "Notify":
		b.Shown <- []string{fmt.Sprint(call.Body[0]), fmt.Sprint(call.Body[3]), fmt.Sprint(call.Body[4])}
		reply.Body = []any{uint32(1)}
	case "StartTransientUnit":
		return b.start(out, call, reply)
	}
	return send(out, reply)
}

func (b *Bus) start(out io.Writer, call, reply *dbus.Message) error {
	name, job, result := fmt.Sprint(call.Body[0]), dbus.ObjectPath("/job/1"), "done"
	switch name {
	case "refused.scope":
		reply.Type, reply.Body = dbus.TypeError, []any{"Unit refused.scope cannot be."}
		reply.Headers[dbus.FieldErrorName] = dbus.MakeVariant("org.freedesktop.systemd1.Refused")
		return send(out, reply)
	case "failed.scope":
		result = "failed"
	default:
		b.Units <- []string{name, fmt.Sprint(call.Body[1]), fmt.Sprint(call.Body[2])}
	}
	reply.Body = []any{job}
	if err := send(out, reply); err != nil {
		return err
	}
	// Of another job, and of this one.
	for _, of := range []dbus.ObjectPath{"/job/7", job} {
		err := send(out, &dbus.Message{Type: dbus.TypeSignal, Body: []any{uint32(1), of, name, result}, Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldSender:    dbus.MakeVariant("org.freedesktop.DBus"),
			dbus.FieldPath:      dbus.MakeVariant(dbus.ObjectPath("/org/freedesktop/systemd1")),
			dbus.FieldInterface: dbus.MakeVariant("org.freedesktop.systemd1.Manager"),
			dbus.FieldMember:    dbus.MakeVariant("JobRemoved"),
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func send(out io.Writer, m *dbus.Message) error {
	if len(m.Body) > 0 {
		m.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(m.Body...))
	}
	return m.EncodeTo(out, binary.LittleEndian)
}
