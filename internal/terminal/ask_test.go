package terminal

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// Only keys that are a single byte are answers; sequences are skipped as a whole, wherever a piece of them ends.
func TestPlainKeys(t *testing.T) {
	for typed, want := range map[string]string{
		"n":                                 "n",
		"\x1b[0nY":                          "Y",
		"\x1b[?62;22c\x1b[24;80Ry":          "y",
		"\x1b]lnnn\x1b\\y":                  "y",
		"\x1b]11;rgb:nn\ay":                 "y",
		"\x1bP1$rn\x1b\\\x1b_n\x1b\\y":      "y",
		"\x1bOnY\x1bNnY":                    "YY",
		"\x1b[Mnnny\x1b[<0;1;1My":           "yy",
		"\x1bny":                            "y",
		"\x1b]unfinished \x18y":             "y",
		"\x1b]n\x1b[0ny":                    "y",
		"\x9b0ny":                           "y",
		"\xc2\x9b0ny":                       "y",
		"\x9dlnn\x1b\\y":                    "y",
		"\x1b]l\u00dcn\x1b\\y":              "y", // the second byte is that of ST
		"\u041d\u0410\u20ac\U0001f600ny":    "ny",
		"\xe9ny":                            "ny",
		strings.Repeat("\x1b[0n", 9) + "\r": "\r",
	} {
		var k plainKeys
		var got []byte
		for i := range len(typed) {
			if k.is(typed[i]) {
				got = append(got, typed[i])
			}
		}
		if string(got) != want {
			t.Errorf("%q has the keys %q, want %q", typed, got, want)
		}
	}
}

// While it is asked nothing of the guest's appears, and what was typed before is no answer, even if the guest does not read it.
func TestAsk(t *testing.T) {
	outer, caller := openPTY(t)
	guestMaster, guest := openPTY(t)
	s, err := Open(true, [3]*os.File{caller, caller, caller})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetUp(guestMaster); err != nil {
		t.Fatal(err)
	}
	s.Start(guestMaster, func() {})
	shown := make(chan []byte, 100)
	go func() {
		for {
			buf := make([]byte, 4096)
			n, err := outer.Read(buf)
			if err != nil {
				return
			}
			shown <- buf[:n]
		}
	}()
	until := func(text string) (seen []byte) {
		t.Helper()
		for end := time.After(10 * time.Second); !bytes.Contains(seen, []byte(text)); {
			select {
			case p := <-shown:
				seen = append(seen, p...)
			case <-end:
				t.Fatalf("%q did not appear: %q", text, seen)
			}
		}
		return seen
	}
	write := func(f *os.File, text string) {
		t.Helper()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write(guest, "before\x1b[?1049h")
	until("1049h")
	write(outer, "nn\x1b[0")
	answer, err := s.Ask(caller, "really? ")
	if err != nil {
		t.Fatal(err)
	}
	write(guest, "painted\x1b[5n")
	write(outer, "n\x1b[0n")
	time.Sleep(100 * time.Millisecond)
	write(outer, "y")
	select {
	case key := <-answer:
		if key != 'y' {
			t.Errorf("the answer is %q", key)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("there is no answer")
	}
	if seen := until("really? "); !bytes.Contains(seen, []byte("1049l")) || bytes.Contains(seen, []byte("painted")) {
		t.Errorf("shown is %q", seen)
	}
	select {
	case p := <-shown:
		t.Errorf("%q appeared below the question", p)
	default:
	}
	s.GoOn()
	until("painted")
	guest.Close()
	if err := s.Drain(); err != nil {
		t.Error(err)
	}
}
