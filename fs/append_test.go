package fs

import (
	"bytes"
	"os"
	"testing"
)

// What goes to the end of a file overwrites nothing that the host has added since the end was asked for.
func TestAppendBehindTheHost(t *testing.T) {
	s := newSession(t)
	s.plant("log", []byte("begin\n"))
	e := s.stat(workspace + "/log")
	s.plant("log", []byte("begin\nthe host's\n"))
	s.must(s.overlay.Append(Caller{}, e.Ino, []byte("the guest's\n"), e.Attr.Size))
	s.reads(workspace+"/log", []byte("begin\nthe host's\nthe guest's\n"))
}

// A program that has a file open adds to what the host has made of it meanwhile, though the kernel takes it to be as long as it was.
func TestAppendToOpenFile(t *testing.T) {
	m := newMounted(t)
	for name, added := range map[string][]byte{"short": []byte("the guest's\n"), "long": bytes.Repeat([]byte("the guest's\n"), 200_000)} {
		m.plant(t, name, []byte("begin\n"))
		f, err := os.OpenFile(m.at("ws/"+name), os.O_WRONLY|os.O_APPEND, 0)
		m.must(t, err)
		defer f.Close()
		_, err = f.Stat() // so the kernel knows the end
		m.must(t, err)
		m.plant(t, name, []byte("begin\nthe host's\n"))
		_, err = f.Write(added)
		m.must(t, err)
		want := append([]byte("begin\nthe host's\n"), added...)
		soon(t, atOnce, func() string { // the kernel is being told
			got, err := os.ReadFile(m.at("ws/" + name))
			m.must(t, err)
			if !bytes.Equal(got, want) {
				return name + ": " + difference(got, want)
			}
			return ""
		})
	}
	for _, name := range []string{"short", "long"} {
		got, err := os.ReadFile(m.host(name))
		m.must(t, err)
		if string(got) != "begin\nthe host's\n" {
			t.Errorf("the host has %d bytes in %s", len(got), name)
		}
	}
}
