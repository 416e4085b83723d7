package exercise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
)

// Pick returns an operation at random, as often as its weight says.
func Pick[T any](rng *rand.Rand, operations []T, weight func(T) int) T {
	sum := 0
	for _, op := range operations {
		sum += weight(op)
	}
	n := rng.IntN(sum)
	for _, op := range operations {
		if n -= weight(op); n < 0 {
			return op
		}
	}
	panic("unreachable: n is less than the sum")
}

// Load reads what the last run wrote down with [Save]. There may have been none.
func Load(file string, state any) (found bool, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, state)
	}
	if err != nil {
		return false, fmt.Errorf("what the last run left: %w", err)
	}
	return true, nil
}

// Save writes down for the next run what should be there.
func Save(file string, state any) error {
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
