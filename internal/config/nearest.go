package config

import (
	"slices"
	"strings"
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
		return distance(strings.ToLower(s), a) - distance(strings.ToLower(s), b)
	})
}

// distance is how many letters have to be added, left out or changed to make b
// of a (Levenshtein's).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
