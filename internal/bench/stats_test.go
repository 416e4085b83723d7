package main

import (
	"math"
	"testing"
	"time"
)

func TestQuantiles(t *testing.T) {
	for _, tc := range []struct {
		name   string
		values []time.Duration
		median time.Duration
		spread float64
	}{
		{"none", nil, 0, 0},
		{"one", []time.Duration{7}, 7, 0},
		{"even", []time.Duration{40, 10}, 25, 0.6}, // quartiles 17.5 and 32.5, cut to whole ns
		{"five", []time.Duration{500, 100, 300, 200, 400}, 300, 2.0 / 3},
		{"an outlier", []time.Duration{100, 100, 100, 100, 9000}, 100, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := median(tc.values); got != tc.median {
				t.Errorf("median %d, want %d", got, tc.median)
			}
			if got := spread(tc.values); math.Abs(got-tc.spread) > 1e-9 {
				t.Errorf("spread %v, want %v", got, tc.spread)
			}
		})
	}
}

func TestQuantileLeavesItsInputAlone(t *testing.T) {
	values := []time.Duration{3, 1, 2}
	median(values)
	if values[0] != 3 || values[1] != 1 || values[2] != 2 {
		t.Errorf("reordered to %v", values)
	}
}

func TestGeometricMean(t *testing.T) {
	if got := geometricMean([]float64{4, 0.25, 8}); math.Abs(got-2) > 1e-9 {
		t.Errorf("got %v, want 2", got)
	}
	if got := geometricMean(nil); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
}
