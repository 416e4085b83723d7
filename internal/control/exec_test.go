package control

import (
	"reflect"
	"testing"
)

func TestExecAsk(t *testing.T) {
	good := ExecAsk{Command: []string{"sh"}, Env: []string{"A=", "B=c"}, Dir: "/tmp", Terminal: [3]bool{true, false, true}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for _, bad := range []ExecAsk{
		{Env: []string{"A"}}, {Env: []string{"=x"}}, {Env: []string{"ART_SANDBOX=0"}}, {Env: []string{"A=\x00"}},
		{Command: []string{"a\x00b"}}, {Dir: "\x00"},
	} {
		if bad.Check() == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// Whatever comes: an error, or a message that is the same when it is sent again.
func FuzzExec(f *testing.F) {
	f.Add(Marshal(&ExecAsk{Command: []string{"sh"}, Env: []string{"A=b"}, Dir: "x"}), false)
	f.Add(Marshal(&ExecMessage{Kind: ExecStream, Stream: 2}), true)
	f.Add(Marshal(&ExecMessage{Kind: ExecEnded, Code: 7, What: "x", Hint: "y"}), false)
	f.Fuzz(func(t *testing.T, data []byte, withFD bool) {
		var ask, askAgain ExecAsk
		if Unmarshal(data, &ask) == nil && ask.Check() == nil {
			if err := Unmarshal(Marshal(&ask), &askAgain); err != nil || !reflect.DeepEqual(ask, askAgain) {
				t.Errorf("%+v became %+v, %v", ask, askAgain, err)
			}
		}
		var m, again ExecMessage
		if Unmarshal(data, &m) == nil && m.Check(withFD) == nil {
			if err := Unmarshal(Marshal(&m), &again); err != nil || m != again {
				t.Errorf("%+v became %+v, %v", m, again, err)
			}
		}
	})
}
