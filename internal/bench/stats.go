package main

import (
	"math"
	"slices"
	"time"
)

// quantile returns the value below which the part q (0 to 1) of the values lies, interpolated
// between the two nearest. It is 0 without values.
func quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + time.Duration((at-float64(low))*float64(sorted[high]-sorted[low]))
}

func median(values []time.Duration) time.Duration { return quantile(values, 0.5) }

// spread is the distance between the quartiles, as a part of the median.
func spread(values []time.Duration) float64 {
	m := median(values)
	if m == 0 {
		return 0
	}
	return float64(quantile(values, 0.75)-quantile(values, 0.25)) / float64(m)
}

// geometricMean is the mean of ratios; NaN without any.
func geometricMean(ratios []float64) float64 {
	sum := 0.0
	for _, r := range ratios {
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(ratios)))
}
