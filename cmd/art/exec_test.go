package main

import (
	"slices"
	"strings"
	"testing"
)

func TestExecWords(t *testing.T) {
	for _, test := range []struct {
		words       string
		ended       bool
		id, command string
	}{
		{"", false, "", ""},
		{"", true, "", ""},
		{"kuku", false, "kuku", ""},
		{"kuku ls -l", false, "kuku", "ls -l"},
		{"kuku -- ls -l", false, "kuku", "ls -l"},
		{"none -- ls", false, "none", "ls"}, // which is told
		{"kuku ls -- x", false, "kuku", "ls -- x"},
		{"kuku ls", true, "", "kuku ls"},
		{"ls kuku", false, "", "ls kuku"},
	} {
		id, command := execWords(strings.Fields(test.words), test.ended, []string{"baba", "kuku"})
		if !slices.Equal(id, strings.Fields(test.id)) || !slices.Equal(command, strings.Fields(test.command)) {
			t.Errorf("%s, after --: %v: %q, %q", test.words, test.ended, id, command)
		}
	}
}
