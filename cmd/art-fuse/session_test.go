package main

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestAnnouncedSession(t *testing.T) {
	for text, want := range map[string][]string{
		"12\n1\x004711\x001\x00ls\x000": {"ls"}, // and the exit code
		"9\n1\x004711\x000\x00\x30":     {},
	} {
		pid, command, err := (&sessionLog{from: bufio.NewReader(strings.NewReader(text))}).announced()
		if err != nil || pid != 4711 || !slices.Equal(command, want) {
			t.Errorf("%q: %d, %q, %v", text, pid, command, err)
		}
	}
	for _, text := range []string{"x\n", "-1\n", "99999999999\n", "99999999\n", "0\n", "3\n1\x00x", "7\n1\x00x\x000\x00\x00"} {
		if _, _, err := (&sessionLog{from: bufio.NewReader(strings.NewReader(text))}).announced(); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	// Where art does not speak, nothing is written.
	if _, _, err := (&sessionLog{from: bufio.NewReader(strings.NewReader(""))}).announced(); !errors.Is(err, io.EOF) {
		t.Errorf("of nothing: %v", err)
	}
	if err := logSession(nil, strings.NewReader("")).end(); err != nil {
		t.Errorf("at the end of nothing: %v", err)
	}
}
