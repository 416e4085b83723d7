package history

import (
	"golang.org/x/sys/unix"
)

// match finds what was renamed among what has come and gone, and shows the rest as such, with all that is in it.
func (d *comparer) match() error {
	for len(d.came) > 0 {
		list := d.came
		d.came = nil
		gone := map[any]*change{}
		for _, c := range list {
			if c.old != nil {
				gone[c.old.key()] = c
			}
		}
		var rest []*change
		for _, c := range list {
			if c.now == nil {
				continue
			}
			from := d.before(c.now, gone)
			if from == nil {
				rest = append(rest, c)
				continue
			}
			delete(gone, from.old.key())
			if err := d.renamed(&change{letter: 'R', path: c.path, from: from.from, old: from.old, now: c.now}); err != nil {
				return err
			}
		}
		for _, c := range list {
			if c.old != nil && gone[c.old.key()] == c {
				rest = append(rest, c)
			}
		}
		for _, c := range rest {
			if c.letter = 'A'; c.now == nil {
				c.letter = 'D'
			}
			d.changes = append(d.changes, c)
			if err := d.compareEntries(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// key is what an object is known by, wherever it is.
func (o *object) key() any {
	if o.row != nil {
		return o.row.Ino
	}
	return o.host
}

// before returns what was the object before it was renamed, of what is gone.
func (d *comparer) before(o *object, gone map[any]*change) (c *change) {
	if o.row == nil {
		return nil
	}
	if o.row.Ino <= d.may.Top {
		c = gone[o.row.Ino]
	}
	if c == nil && o.row.Origin != nil {
		c = gone[o.row.Origin.Path]
	}
	if c == nil || (c.old.attr.Mode^o.attr.Mode)&unix.S_IFMT != 0 {
		return nil
	}
	return c
}

// renamed shows what was renamed, and what else is another in it.
func (d *comparer) renamed(c *change) error {
	d.changes = append(d.changes, c)
	if !c.now.isDir() {
		return nil
	}
	return d.compareEntries(c)
}
