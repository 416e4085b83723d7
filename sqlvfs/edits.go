package sqlvfs

import (
	"maps"
	"slices"
)

// edits are changes to the rows of a table, by their keys: what is to be true of each afterwards.
type edits[K comparable, V any] map[K]edit[V]

type edit[V any] struct {
	value V
	gone  bool // there is to be no row
	fresh bool // nor was there one before, so that nothing is left to do when there is to be none
}

// put has a row be there. before tells whether there may be one already.
func (e edits[K, V]) put(key K, value V, before bool) {
	was, ok := e[key]
	e[key] = edit[V]{value: value, fresh: was.fresh || !ok && !before}
}

// remove has a row be gone that is there.
func (e edits[K, V]) remove(key K) {
	if e[key].fresh {
		delete(e, key)
	} else {
		e[key] = edit[V]{gone: true}
	}
}

// then is what e and later edits amount to, when e may have been made or not.
func (e edits[K, V]) then(later edits[K, V]) edits[K, V] {
	for key, was := range e {
		was.fresh = false
		e[key] = was
	}
	maps.Copy(e, later)
	return e
}

// has tells whether a map holds a key.
func has[K comparable, V any](m map[K]V, key K) bool {
	_, ok := m[key]
	return ok
}

// sortedKeys are a map's keys in order.
func sortedKeys[K comparable, V any](m map[K]V, order func(a, b K) int) []K {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, order)
	return keys
}
