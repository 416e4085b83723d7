package fs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// counts says how many operations of each kind were served. The zero value is ready for use, by
// several goroutines at once. Counting takes some 50 ns, where an operation takes microseconds.
type counts struct {
	kinds sync.Map // reflect.Type of an operation -> *atomic.Int64
}

func (c *counts) add(op any) {
	kind := reflect.TypeOf(op)
	n, ok := c.kinds.Load(kind)
	if !ok {
		n, _ = c.kinds.LoadOrStore(kind, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
}

// String returns the counts as "Kind=N" in the order of the kinds' names, with a space between.
func (c *counts) String() string {
	var list []string
	c.kinds.Range(func(kind, n any) bool {
		// The type's own name, as in *fuseops.LookUpInodeOp.
		name := strings.TrimSuffix(kind.(reflect.Type).Elem().Name(), "Op")
		list = append(list, fmt.Sprintf("%s=%d", name, n.(*atomic.Int64).Load()))
		return true
	})
	slices.Sort(list)
	return strings.Join(list, " ")
}
