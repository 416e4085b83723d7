package config

import (
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/spelling"
)

// names returns the keys of m in alphabetical order.
func names[T any](m map[string]T) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// nearest returns the word that s was most likely meant to be.
func nearest(s string, words []string) string {
	return slices.MinFunc(words, func(a, b string) int {
		return spelling.Distance(strings.ToLower(s), a) - spelling.Distance(strings.ToLower(s), b)
	})
}
