// Package fakebus is for tests: a user's bus on which there is a desktop that shows notifications, and nothing else.
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

// Start starts a bus, and returns its address for DBUS_SESSION_BUS_ADDRESS. Of each notification it sends the application,
// the title and the text. One that is mute accepts connections, and says nothing.
func Start(t testing.TB, mute bool) (address string, notifications <-chan []string) {
	path := filepath.Join(t.TempDir(), "bus")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	shown := make(chan []string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			if !mute {
				go serve(conn, shown)
			}
		}
	}()
	return "unix:path=" + path, shown
}

// serve does what https://dbus.freedesktop.org/doc/dbus-specification.html#auth-protocol asks for, and answers calls.
func serve(conn net.Conn, shown chan<- []string) {
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
			answer(conn, in, shown)
			return
		default:
			fmt.Fprint(conn, "ERROR\r\n")
		}
	}
}

func answer(out io.Writer, in io.Reader, shown chan<- []string) {
	for {
		call, err := dbus.DecodeMessage(in)
		if err != nil {
			return
		}
		var result any = ":1.1"
		if member := call.Headers[dbus.FieldMember].Value(); member == "Notify" {
			result = uint32(1)
			shown <- []string{fmt.Sprint(call.Body[0]), fmt.Sprint(call.Body[3]), fmt.Sprint(call.Body[4])}
		}
		reply := &dbus.Message{Type: dbus.TypeMethodReply, Body: []any{result}, Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldReplySerial: dbus.MakeVariant(call.Serial()),
			dbus.FieldSender:      dbus.MakeVariant("org.freedesktop.DBus"),
			dbus.FieldSignature:   dbus.MakeVariant(dbus.SignatureOf(result)),
		}}
		if err := reply.EncodeTo(out, binary.LittleEndian); err != nil {
			return
		}
	}
}
