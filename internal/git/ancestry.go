package git

import (
	"container/heap"
	"math"

	"github.com/go-git/go-git/v5/plumbing"
)

// leadsTo reports whether a reference that is an object, or none, can become another, and whether it holds that already.
func (p *Plan) leadsTo(is, other ID) (free, there bool, err error) {
	if is.IsZero() {
		return true, false, nil
	}
	if there, err = p.objects.isAncestor(other, is); there || err != nil {
		return false, there, err
	}
	free, err = p.objects.isAncestor(is, other)
	return free, false, err
}

// maxWalk bounds how many commits are looked at to find whether one is older than another.
const maxWalk = 200_000

// isAncestor reports whether one commit can be reached from another. What is not there, or no commit, reaches
// nothing.
func (o *objects) isAncestor(old, from ID) (bool, error) {
	reached, err := o.reached(map[ID]bool{old: true}, []ID{from})
	return reached[old], err
}

// reached reports which of some commits can be reached from others.
func (o *objects) reached(targets map[ID]bool, tips []ID) (map[ID]bool, error) {
	const slack = 86400 // clocks are not all right
	reached, seen, queue := map[ID]bool{}, map[ID]bool{}, &byDate{}
	oldest, commits := int64(math.MaxInt64), 0
	for id := range targets {
		c, err := o.commit(id)
		if err == nil {
			oldest, commits = min(oldest, c.when-slack), commits+1
		} else if ignoreDamage(err) != nil {
			return reached, err
		}
	}
	push := func(id ID) error {
		if seen[id] {
			return nil
		}
		seen[id] = true
		if targets[id] {
			reached[id] = true
		}
		if commits == 0 || len(reached) == len(targets) {
			return nil
		}
		c, err := o.commit(id)
		if err == nil && c.when >= oldest {
			heap.Push(queue, dated{c.parents, c.when})
		}
		return ignoreDamage(err)
	}
	for _, id := range tips {
		if err := push(id); err != nil {
			return reached, err
		}
	}
	for queue.Len() > 0 && len(seen) < maxWalk && len(reached) < len(targets) {
		for _, id := range heap.Pop(queue).(dated).parents {
			if err := push(id); err != nil {
				return reached, err
			}
		}
	}
	return reached, nil
}

// peel returns what an annotated tag leads to; of anything else, that itself.
func (o *objects) peel(id ID) ID {
	for range 5 {
		if id.IsZero() {
			break
		}
		obj, err := o.read(id, maxMeta)
		if err != nil || obj.kind != plumbing.TagObject {
			break
		}
		target, ok := tagTarget(obj.data)
		if !ok {
			break
		}
		id = target
	}
	return id
}

type dated struct {
	parents []ID
	when    int64
}

// byDate is a heap of commits, the youngest first.
type byDate []dated

func (q byDate) Len() int { return len(q) }

func (q byDate) Less(i, j int) bool { return q[i].when > q[j].when }

func (q byDate) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *byDate) Push(x any) { *q = append(*q, x.(dated)) }

func (q *byDate) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
