package session

import (
	"testing"

	"github.com/riverlytech/art/internal/control"
)

func TestCopied(t *testing.T) {
	for want, state := range map[string]control.ReplicaState{
		"s3://b/x": {Behind: 900, Waits: 5},
		"s3://b/x, behind by 1m5s, lacks 2.0M: it does not answer": {Behind: 65_400, Waits: 2 << 20, Why: "it does not answer"},
		`s3://b/x, behind by 3s: \x1b[2J`:                          {Behind: 3_000, Why: "\x1b[2J"},
	} {
		if got := CopiedOf(&control.SessionInfo{Copied: "s3://b/x", Copy: state}).String(); got != want {
			t.Errorf("%+v: %q", state, got)
		}
	}
	if CopiedOf(&control.SessionInfo{}) != nil {
		t.Error("one that is not copied is")
	}
}
