package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/sqlvfs"
)

func TestRange(t *testing.T) {
	isFork := func(name string) bool { return name == "one" || name == "two" }
	for _, of := range []struct {
		word     string
		from, to Point
		ok       bool
	}{
		{"one..two", Point{Fork: "one"}, Point{Fork: "two"}, true},
		{"one..", Point{Fork: "one"}, Point{}, true},
		{"..two", Point{}, Point{Fork: "two"}, true},
		{"one@3..two@label", Point{"one", "3"}, Point{"two", "label"}, true},
		{"@3..one", Point{At: "3"}, Point{Fork: "one"}, true},
		{"@one", Point{At: "one"}, Point{}, true},
		{"3..5", Point{At: "3"}, Point{At: "5"}, true},
		{"@3", Point{At: "3"}, Point{}, true},
		{"@3..@5", Point{At: "3"}, Point{At: "5"}, true},
		{"three..one", Point{At: "three"}, Point{Fork: "one"}, true},
		{word: "..three"},
		{word: "..x"},
		{word: "one"},
		{word: "@"},
		{word: ".."},
		{word: "../one"},
		{word: "./one..two"},
	} {
		from, to, ok := ParseRange(of.word, isFork)
		if ok != of.ok || ok && (from != of.from || to != of.to) {
			t.Errorf("%s: %v..%v, %v", of.word, from, to, ok)
		}
	}
}

func TestTailOfOutput(t *testing.T) {
	var all bytes.Buffer
	var end tail
	for i := range 40_000 {
		fmt.Fprintf(&all, "line %d\n", i)
		fmt.Fprintf(&end, "line %d\n", i)
	}
	if text := end.text(); !strings.HasSuffix(all.String(), text) || len(text) > maxOutput || len(text) < maxOutput-20 || !strings.HasPrefix(text, "line ") {
		t.Fatalf("%d bytes: %.40q", len(text), text)
	}
	end = tail{}
	end.Write(bytes.Repeat([]byte("x"), 5*maxOutput))
	if text := end.text(); len(text) != maxOutput || len(end.data) > 2*maxOutput {
		t.Fatalf("%d bytes of %d", len(text), len(end.data))
	}
	end = tail{}
	end.Write([]byte("\xff\xfeshort"))
	if text := end.text(); text != "\uFFFDshort" {
		t.Fatalf("%q", text)
	}
}

func TestForksByNumber(t *testing.T) {
	if byNumber("try-2", "try-10") >= 0 || byNumber("a-3", "b-1") >= 0 || byNumber("try", "try-1") >= 0 {
		t.Fatal("not by number")
	}
}

// What waits for the fork's session to end says so, below what is drawn.
func TestResultWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s, err := sqlvfs.Open(path, sqlvfs.Options{Create: true, Root: sqlvfs.NewRoot()})
	if err != nil {
		t.Fatal(err)
	}
	held, err := s.CloseHeld()
	if err != nil {
		t.Fatal(err)
	}
	said, letGo := io.Pipe()
	tries := &tries{o: &TryOptions{Options: Options{Prog: "art"}, Stderr: letGo}, drawn: 3}
	words := make(chan string)
	go func() {
		defer held.Close()
		line, _ := bufio.NewReader(said).ReadString('\n')
		words <- line
	}()
	kept := make(chan error)
	go func() {
		kept <- tries.keep(&trial{path: path}, &Result{})
		letGo.Close()
	}()
	if got, want := <-words, fmt.Sprintf("art: waiting for process %d, which is about to close %s\n", os.Getpid(), path); got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	if err := <-kept; err != nil || tries.drawn != 0 {
		t.Errorf("%v; what is drawn next goes %d lines up", err, tries.drawn)
	}
}

// Output of which every byte is six as JSON is cut until the result fits.
func TestResultFits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s, err := sqlvfs.Open(path, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: 0o40755, Nlink: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := (&tries{o: &TryOptions{}}).keep(&trial{path: path}, &Result{ExitCode: 3, Output: strings.Repeat("\x00", maxOutput-3) + "end"}); err != nil {
		t.Fatal(err)
	}
	if s, err = sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text, err := s.Result()
	var r Result
	if err != nil || json.Unmarshal(text, &r) != nil || r.ExitCode != 3 || !strings.HasSuffix(r.Output, "end") {
		t.Errorf("it is %d bytes, exit code %d, %v", len(text), r.ExitCode, err)
	}
}
