package main

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 30, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"20m":                  now.Add(-20 * time.Minute),
		"1h30m":                now.Add(-90 * time.Minute),
		"11:45":                time.Date(2026, 3, 4, 11, 45, 0, 0, time.Local),
		"11:45:10":             time.Date(2026, 3, 4, 11, 45, 10, 0, time.Local),
		"2026-03-01":           time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
		"2026-03-01 08:00":     time.Date(2026, 3, 1, 8, 0, 0, 0, time.Local),
		"2026-03-01 08:00:05":  time.Date(2026, 3, 1, 8, 0, 5, 0, time.Local),
		"2026-03-01T08:00:05":  time.Date(2026, 3, 1, 8, 0, 5, 0, time.Local),
		"2026-03-01T08:00:05Z": time.Date(2026, 3, 1, 8, 0, 5, 0, time.UTC),
		"-5m":                  {},
		"yesterday":            {},
		"25:00":                {},
		"12:31":                {}, // has not come yet
		"2030-01-01":           {},
	} {
		if got, err := parseTime(text, now); !got.Equal(want) || (err == nil) == want.IsZero() {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
