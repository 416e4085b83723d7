package output

import (
	"testing"
	"time"
)

// A write that takes a second is told of once, within that second, and short ones never are.
func TestVigil(t *testing.T) {
	var v vigil
	told := time.Duration(0)
	for passed := lookEvery; passed < time.Minute; passed += lookEvery {
		if v.look(7) {
			if told > 0 {
				t.Errorf("told again after %v", passed)
			}
			told = passed
		}
	}
	// The write may have begun right after a look.
	if told < patience || told+lookEvery > time.Second+lookEvery {
		t.Errorf("told after %v", told)
	}
	for writes := range uint64(1000) {
		if v.look(writes) {
			t.Fatal("told of a short write")
		}
	}
}
