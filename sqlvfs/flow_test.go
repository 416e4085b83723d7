package sqlvfs

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

func TestFlows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s, err := Open(path, Options{Create: true, Root: rootAttr})
	must(t, err)
	if list, err := s.Flows(); err != nil || len(list) != 0 {
		t.Fatalf("at first there are %v, %v", list, err)
	}
	must(t, s.BeginSession(1, []string{"true"}))
	now := Now()
	open := Flow{Number: 1, Began: now, PID: 7, Command: []string{"curl", strings.Repeat("x", 2000)}, Name: "a.example", Port: 80, Protocol: "tcp", Rule: "a.example", Times: 1}
	denied := Flow{Number: 2, Began: now, Ended: &now, Name: strings.Repeat("n", 600) + "\xff", Denied: true, Why: "no", Times: 3}
	must(t, s.AddFlows([]Flow{open, denied}))
	over := open
	over.Ended, over.Sent, over.Address = &now, 5, "1.2.3.4:80"
	must(t, s.AddFlows([]Flow{over}))
	list, err := s.Flows()
	must(t, err)
	if len(list) != 2 || list[1].Sent != 5 || list[1].Ended == nil || list[1].Session != 1 || list[1].PID != 7 || len(list[1].Command[1]) > maxFlowCommand ||
		list[1].Address != "1.2.3.4:80" || !list[0].Denied || len(list[0].Name) > maxFlowText || list[0].Times != 3 {
		t.Errorf("there are %+v", list)
	}
	if n, err := s.Denials(); err != nil || n[1] != 3 {
		t.Errorf("denied: %v, %v", n, err)
	}
	must(t, s.Close())
	if got := findings(t, path); got != "" {
		t.Errorf("the check finds %s", got)
	}
}

// The oldest go, by number and by age.
func TestFlowsAreThinned(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "db"), Options{Create: true, Root: rootAttr, Keep: Keep{For: time.Hour}})
	must(t, err)
	defer s.Close()
	must(t, s.BeginSession(1, []string{"true"}))
	old := Now()
	old.Sec -= 7200
	var list []Flow
	for i := range MaxFlows + 10 {
		f := Flow{Number: int64(i + 1), Began: Now(), Name: "a.example", Times: 1}
		if i < 20 {
			f.Began = old
		}
		list = append(list, f)
	}
	must(t, s.AddFlows(list))
	kept, err := s.Flows()
	must(t, err)
	if len(kept) != MaxFlows || kept[len(kept)-1].Number != 11 {
		t.Fatalf("there are %d, the oldest %d", len(kept), kept[len(kept)-1].Number)
	}
	_, err = s.Thin(Keep{For: time.Hour})
	must(t, err)
	kept, err = s.Flows()
	must(t, err)
	if len(kept) != MaxFlows-10 || kept[len(kept)-1].Number != 21 {
		t.Errorf("after an hour there are %d, the oldest %d", len(kept), kept[len(kept)-1].Number)
	}
}

// Whatever another program has written there is read within bounds, found by the check, and repaired.
func TestHostileFlows(t *testing.T) {
	path := sample(t)
	alter(t, path, database.WhenNeeded["art_flow"]+`;
		INSERT INTO art_flow (session, number, began, began_nsec, command, name, denied, sent, received, times) VALUES
			(1, 1, 'x', 5, zeroblob(1000000), zeroblob(1000000), 7, 'a', -1, 0), (1, 2, 1, 1, 'true', 'a.example', 0, 1, 1, 1)`)
	s, err := Open(path, Options{ReadOnly: true})
	must(t, err)
	list, err := s.Flows()
	must(t, err)
	if len(list) != 2 || len(list[1].Name) > 512 {
		t.Errorf("there are %d", len(list))
	}
	must(t, s.Close())
	if got := findings(t, path); !strings.Contains(got, "connection 1 has numbers that cannot be") || strings.Contains(got, "connection 2") {
		t.Errorf("the check finds %q", got)
	}
}
