package stub

import (
	"reflect"
	"testing"

	"github.com/riverlytech/art/internal/control"
)

func TestPayload(t *testing.T) {
	want := &Payload{
		Command: []string{"sh", "-c", ""}, Shells: []string{"/bin/sh"}, Env: []string{"A=b"}, Workspace: "/w",
		Sockets: []string{"/w", "/x"}, Mounts: true, Terminal: [3]bool{true, false, true}, Filter: []byte("\x00f"), Notify: []byte("\x00t"), Dir: "x", Joined: true,
	}
	got := &Payload{}
	if err := control.Unmarshal(control.Marshal(want), got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}
