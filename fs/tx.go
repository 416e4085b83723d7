package fs

import "github.com/riverlytech/art/sqlvfs"

// tx is one try of a step. A step is a function that runs with nothing else happening to the overlay or the database,
// and that never waits. What it needs to know of the host it asks for, which ends the try: then the host is asked, and
// the step runs again from its beginning, on what is true by then. So a step asks before it changes anything, but for
// what may stay if it comes to nothing, as a copy-up may.
//
// Methods of tx are parts of a step.
type tx struct {
	*Overlay
	db    *sqlvfs.Tx
	known *facts  // nil: nothing
	made  []*node // by this try, which refers to them until it ends
}

// access is how a step gets at the database, see [sqlvfs.Store].
type access int

const (
	viewing access = iota
	updating
	reducing
)

func (o *Overlay) view(step func(*tx) error) error              { return o.run(viewing, nobody, step) }
func (o *Overlay) update(by Author, step func(*tx) error) error { return o.run(updating, by, step) }
func (o *Overlay) reduce(by Author, step func(*tx) error) error { return o.run(reducing, by, step) }

// query runs a step that has a result, and is nobody's.
func query[T any](o *Overlay, a access, step func(*tx) (T, error)) (result T, err error) {
	err = o.run(a, nobody, func(t *tx) (err error) {
		result, err = step(t)
		return err
	})
	return result, err
}

func (o *Overlay) run(a access, by Author, step func(*tx) error) error {
	known, err := o.try(a, by, nil, step)
	if known == nil {
		return err
	}
	defer known.close()
	for known.asks {
		if err := o.answer(known); err != nil {
			return err
		}
		_, err = o.try(a, by, known, step)
	}
	return err
}

// try runs a step once. It returns what the host has said so far, and is to be asked.
func (o *Overlay) try(a access, by Author, known *facts, step func(*tx) error) (_ *facts, err error) {
	if known != nil {
		known.asks = false
	}
	once := func(db *sqlvfs.Tx) error {
		t := &o.tx
		t.db, t.known = db, known
		if known != nil && known.amends != t.amends { // names of one file are told by what the host and its row say of it
			known.forgetStats()
			known.amends = t.amends
		}
		if by != nobody {
			db.By(by.Process, by.Mapped)
			if by.Guest {
				db.ByGuest()
			}
		}
		err := step(t)
		for _, n := range t.made {
			t.release(n, 1)
		}
		clear(t.made)
		known, t.db, t.known, t.made = t.known, nil, nil, t.made[:0]
		return err
	}
	switch a {
	case updating:
		err = o.store.Update(once)
	case reducing:
		err = o.store.Reduce(once)
	default:
		err = o.store.View(once)
	}
	return known, err
}
