package fs

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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

// What a program writes elsewhere, though it has opened the file to append to it, stays there, whatever the host has appended.
func TestWriteElsewhereThanAtTheEnd(t *testing.T) {
	m := newMounted(t)
	open := func(name string) (f *os.File, write func(text string, off int64)) {
		f, err := os.OpenFile(m.at("ws/"+name), os.O_WRONLY|os.O_APPEND, 0)
		m.must(t, err)
		t.Cleanup(func() { f.Close() })
		return f, func(text string, off int64) {
			t.Helper()
			_, err := unix.Pwritev2(int(f.Fd()), [][]byte{[]byte(text)}, off, unix.RWF_NOAPPEND)
			m.must(t, err)
		}
	}
	reads := func(name, want string) {
		t.Helper()
		soon(t, atOnce, func() string { // the kernel may be being told
			got, err := os.ReadFile(m.at("ws/" + name))
			m.must(t, err)
			if string(got) != want {
				return fmt.Sprintf("%s: %q, want %q", name, got, want)
			}
			return ""
		})
	}
	m.plant(t, "host's", []byte("begin\nmore\n"))
	m.must(t, os.WriteFile(m.at("ws/guest's"), []byte("begin\nmore\n"), 0o644))
	for _, name := range []string{"host's", "guest's"} {
		f, write := open(name)
		_, err := f.WriteString("last\n")
		m.must(t, err)
		write("BEGIN", 0)
		write("LAST", int64(len("begin\nmore\n"))) // where the end has been
		write("hole", 20)
		_, err = f.WriteString("end\n")
		m.must(t, err)
		reads(name, "BEGIN\nmore\nLAST\n\x00\x00\x00\x00holeend\n")
		m.must(t, f.Truncate(3))
		write("hole", 28)
		reads(name, "BEG"+strings.Repeat("\x00", 25)+"hole")
	}
	m.plant(t, "log", []byte("begin\n"))
	_, write := open("log")
	m.plant(t, "log", []byte("begin\nthe host's\n"))
	write("BEGIN", 0)
	reads("log", "BEGIN\nthe host's\n")
}

// Of what the kernel is told of a file's size, it may not have heeded all.
func TestEnds(t *testing.T) {
	var e ends
	appends := func(size int64, want string) {
		t.Helper()
		got := ""
		for off := range int64(10) {
			if e.appends(off, size) {
				got += fmt.Sprint(off)
			}
		}
		if got != want {
			t.Errorf("%+v, at %d: %s, want %s", e, size, got, want)
		}
	}
	appends(5, "0123456789")
	e.tell(3)
	appends(3, "3")
	appends(5, "345")
	e.tell(6)
	appends(6, "36")
	e.tell(7)
	appends(7, "37")
	e.reach(5)
	appends(7, "37")
	e.reach(7)
	appends(7, "7")
	e.tell(2)
	appends(2, "27")
	e.reach(4)
	appends(2, "27")
}
