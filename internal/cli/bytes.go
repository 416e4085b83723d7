package cli

import (
	"fmt"
	"math"
)

// Bytes is a size for people.
func Bytes(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%dB", n)
	}
	f, i := float64(n)/1024, 0
	for ; math.Round(f*10) >= 10240 && i < len(units)-1; i++ {
		f /= 1024
	}
	return fmt.Sprintf("%.1f%c", f, units[i])
}
