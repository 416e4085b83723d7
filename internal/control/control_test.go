package control

import (
	"errors"
	"io"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/internal/hold"
	"github.com/riverlytech/art/libexec"
)

// every has a field of each kind that Marshal knows.
type every struct {
	Yes, No  bool
	Int      int
	ID       uint32
	Size     uint64
	Mode     os.FileMode
	Text     string
	Bytes    []byte
	Names    []string
	Streams  [3]bool
	Time     time.Time
	Inner    []inner
	Nothing  []string
	Negative int64
}

type inner struct {
	Name string
	Kind LayerKind
}

func TestMarshal(t *testing.T) {
	want := every{
		Yes: true, Int: -7, ID: 1 << 31, Size: 1 << 63, Mode: os.ModeDir | 0o755, Text: "a\x00\xff\n", Bytes: []byte{0, 0xff},
		Names: []string{"", "\xfe"}, Streams: [3]bool{true, false, true}, Time: time.Unix(1, 2),
		Inner: []inner{{"x", Tree}, {}}, Negative: -1 << 63,
	}
	data := Marshal(&want)
	var got every
	if err := Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v came back as %+v, %v", want, got, err)
	}
	for n := range data {
		if Unmarshal(data[:n], new(every)) == nil {
			t.Errorf("the first %d of %d bytes were taken", n, len(data))
		}
	}
	for what, bad := range map[string][]byte{"more": append(data, 0), "another type": Marshal(&inner{}), "nothing": nil} {
		if Unmarshal(bad, new(every)) == nil {
			t.Errorf("%s was taken", what)
		}
	}
}

func TestServe(t *testing.T) {
	good := func() Serve {
		return Serve{
			Base: "/ws", Name: "ws", Show: []string{".art/config.json"}, Layers: []Layer{{Kind: Git, Dev: 1, Ino: 2, Dir: "/repo/.git"}},
			Places: []files.Place{{Path: "ws/x", Directory: true}}, Files: []files.File{{Path: ".netrc"}},
			Hold: []hold.Pattern{{Text: "*.lock", Why: "it is a lock"}}, PID: 7, Command: []string{"sh"},
		}
	}
	want, got := good(), Serve{}
	if err := Unmarshal(Marshal(&want), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v came back as %+v, %v", want, got, err)
	}
	if err := got.Check(); err != nil {
		t.Error(err)
	}
	for what, damage := range map[string]func(s *Serve){
		"no base":          func(s *Serve) { s.Base = "" },
		"no name":          func(s *Serve) { s.Name = "" },
		"a kind of layer":  func(s *Serve) { s.Layers[0].Kind = layerKinds },
		"a relative layer": func(s *Serve) { s.Layers[0].Dir = "repo" },
		"a place":          func(s *Serve) { s.Places[0].Path = "../x" },
		"a file":           func(s *Serve) { s.Files[0].Path = "/etc/passwd" },
		"a shown path":     func(s *Serve) { s.Show[0] = "a//b" },
		"a pattern":        func(s *Serve) { s.Hold[0].Why = "" },
	} {
		s := good()
		if damage(&s); s.Check() == nil {
			t.Errorf("%s was taken", what)
		}
	}
}

func TestSend(t *testing.T) {
	ours, theirs, err := libexec.Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for kind := none + 1; int(kind) < len(kinds); kind++ {
		fd := -1
		if kinds[kind].descriptor == required {
			fd = int(null.Fd())
		}
		want := Message{Kind: kind, UID: 1000, Ready: true, Inodes: []uint64{1, 1 << 63}, What: "\xff"}
		if err := Send(theirs, fd, want); err != nil {
			t.Fatal(err)
		}
		got, err := Receive(ours)
		if err != nil || !reflect.DeepEqual(got.Message, want) || (got.FD >= 0) != (fd >= 0) {
			t.Errorf("%v came as %+v, %v", kind, got, err)
		}
		if got.FD >= 0 {
			os.NewFile(uintptr(got.FD), "").Close()
		}
	}
	for what, send := range map[string]func() error{
		"a mount without a descriptor": func() error { return Send(theirs, -1, Message{Kind: Mount}) },
		"ready with a descriptor":      func() error { return Send(theirs, int(null.Fd()), Message{Kind: Ready}) },
		"a kind that there is not":     func() error { return Send(theirs, -1, Message{Kind: Kind(len(kinds))}) },
		"no kind":                      func() error { return Send(theirs, -1, Message{}) },
		"other bytes":                  func() error { return libexec.SendFD(theirs, -1, []byte("ready")) },
	} {
		if err := send(); err != nil {
			t.Fatal(err)
		}
		if m, err := Receive(ours); err == nil {
			t.Errorf("%s was taken for %+v", what, m)
		}
	}
	theirs.Close()
	if _, err := Receive(ours); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestAwait(t *testing.T) {
	ours, theirs, err := libexec.Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	for want, m := range map[string]Message{
		"":                                    {Kind: Opened},
		"open it: it is broken":               Failure(cli.WithHint(errors.New("open it:\nit is broken"), "mend it")),
		`start art-fuse: it answered "ready"`: {Kind: Ready},
	} {
		if err := Send(theirs, -1, m); err != nil {
			t.Fatal(err)
		}
		got := ""
		err := Await(ours, Opened)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
		var h cli.Hinted
		if m.Kind == Failed && (!errors.As(err, &h) || h.Hint() != "mend it") {
			t.Errorf("%v has no hint", err)
		}
	}
	theirs.Close()
	if err := Await(ours, Opened); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// Whatever comes: an error, or a message that is the same when it is sent again.
func FuzzReceive(f *testing.F) {
	for kind := range kinds {
		f.Add(Marshal(&Message{Kind: Kind(kind), UID: 1, Inodes: []uint64{7}, What: "x"}), kinds[kind].descriptor == required)
	}
	f.Fuzz(func(t *testing.T, data []byte, withFD bool) {
		m, err := read(data, withFD)
		if err != nil {
			return
		}
		if again, err := read(Marshal(&m), withFD); err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%+v became %+v, %v", m, again, err)
		}
	})
}

// The same for what art-fuse is to serve.
func FuzzServe(f *testing.F) {
	f.Add(Marshal(&Serve{Base: "/ws", Name: "ws", Layers: []Layer{{Kind: Git, Dir: "/x"}}, Command: []string{"sh"}}))
	f.Add(Marshal(&Report{Broken: []string{"x"}, Changed: true}))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s, again Serve
		if Unmarshal(data, &s) != nil || s.Check() != nil {
			return
		}
		if err := Unmarshal(Marshal(&s), &again); err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%+v became %+v, %v", s, again, err)
		}
	})
}

// What others ask a session, and what it answers.
func FuzzAsk(f *testing.F) {
	f.Add(Marshal(&Ask{Protocol: SessionProtocol, Version: "1", Kind: AskKill, Body: Marshal(&KillAsk{15})}))
	f.Add(Marshal(&Answer{Protocol: SessionProtocol, Version: "1", What: "x", Hint: "y", Body: Marshal(&SessionInfo{ID: "x", Command: []string{"sh"}})}))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzed(t, data, &Ask{}, &Ask{})
		fuzzed(t, data, &Answer{}, &Answer{})
		fuzzed(t, data, &SessionInfo{}, &SessionInfo{})
		fuzzed(t, data, &SessionEnd{}, &SessionEnd{})
		fuzzed(t, data, &KillAsk{}, &KillAsk{})
	})
}

// fuzzed is bytes that are an error, or the same when they are sent again.
func fuzzed(t *testing.T, data []byte, v, again any) {
	if Unmarshal(data, v) != nil {
		return
	}
	if err := Unmarshal(Marshal(v), again); err != nil || !reflect.DeepEqual(v, again) {
		t.Errorf("%+v became %+v, %v", v, again, err)
	}
}
