package sandbox

import (
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/control"
)

const tableHeading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

// What listens is found, and of a table that a guest has made long nothing is read after that, or too much.
func TestListens(t *testing.T) {
	const listening, connected = "   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000\n", "   1: 0100007F:0BB9 0100007F:0016 01 00000000:00000000\n"
	found := map[int]bool{}
	listens(io.MultiReader(strings.NewReader(tableHeading+listening+connected), unread{t}), found)
	listens(strings.NewReader(tableHeading+"   0: 00000000000000000000000001000000:0BBA 00000000000000000000000000000000:0000 0A 0:0\n"), found)
	listens(strings.NewReader(tableHeading+connected+listening), map[int]bool{})
	if want := map[int]bool{3000: true, 3002: true}; !maps.Equal(found, want) {
		t.Errorf("it found %v, want %v", found, want)
	}
	listens(io.MultiReader(strings.NewReader(strings.Repeat(listening, maxTable/len(listening)+1)), unread{t}), found)
}

// unread is what nobody is to read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("it reads on")
	return 0, io.EOF
}

// Connections are counted for the port that they are at, and what is at none is the end of what art-net is believed.
func TestCountPorts(t *testing.T) {
	p := &ports{counts: []control.PublishedPort{{Host: 8080, Guest: 3000}, {Host: 8081, Guest: 3000}}}
	for _, e := range []control.NetEvent{{Published: 1}, {Published: 1}, {Published: 1, Kind: control.NetEnded}, {Kind: control.NetEnded}} {
		if !p.count(&e) {
			t.Errorf("%+v is at no port", e)
		}
	}
	if a, b := p.counts[0], p.counts[1]; a.Open != 0 || a.Total != 0 || b.Open != 1 || b.Total != 2 {
		t.Errorf("the counts are %+v", p.counts)
	}
	if p.count(&control.NetEvent{Published: 2}) || (&control.NetEvent{Published: -1}).Check() == nil {
		t.Error("there is a third port")
	}
}
