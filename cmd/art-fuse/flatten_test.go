package main

import (
	"slices"
	"testing"

	"github.com/riverlytech/art/internal/config"
)

// Package config itself would bring half of package crypto into the program.
func TestGuestFiles(t *testing.T) {
	if !slices.Equal(guestFiles, config.GuestFiles) {
		t.Errorf("%q, not %q", guestFiles, config.GuestFiles)
	}
}
