package sqlvfs

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
)

// ErrUnrelated says that two databases have nothing in common: neither is a fork of the other, nor are both of a third one.
var ErrUnrelated = errors.New("the databases have no parent in common")

// Between returns where the trees of two moments may differ, of one database or of forks that have a parent in common. Of what they have in
// common, only what history has between is looked at, and of forks what they have rows of their own of.
func Between(a, b *Moment) (*Difference, error) {
	one, err := a.lineage()
	defer closeAll(one)
	if err != nil {
		return nil, err
	}
	two, err := b.lineage()
	defer closeAll(two)
	if err != nil {
		return nil, err
	}
	i, j, err := meet(one, two)
	if err != nil {
		return nil, err
	}
	earlier, later := one[i], two[j]
	if earlier.at == nil || later.at != nil && later.at.ID < earlier.at.ID {
		earlier, later = later, earlier
	}
	d := newDifference()
	if earlier.at != nil {
		if d, err = later.Since(earlier); err != nil {
			return nil, err
		}
	}
	for _, chain := range [][]*Moment{one[:i+1], two[:j+1]} {
		for n := range len(chain) - 1 {
			more, err := chain[n].SinceFork(chain[n+1])
			if err != nil {
				return nil, err
			}
			d.add(more)
		}
	}
	// What one has changed may lie elsewhere in the other.
	if i+j > 0 {
		for _, m := range []*Moment{a, b} {
			if err := m.climb(d); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// lineage are a moment, that of the database that it is a fork of, and so on. The moments behind the first are the caller's to close.
func (m *Moment) lineage() (list []*Moment, err error) {
	list = []*Moment{m}
	for {
		_, at, _ := m.Parent()
		if at == 0 {
			return list, nil
		}
		if m, err = openMoment(m.s.Parents()[0], strconv.FormatInt(at, 10)); err != nil {
			return list, err
		}
		list = append(list, m)
	}
}

func closeAll(lineage []*Moment) {
	for _, m := range lineage[1:] {
		m.Close()
	}
}

// meet finds the first database that two lineages have in common.
func meet(one, two []*Moment) (i, j int, err error) {
	for i, a := range one {
		if j = slices.IndexFunc(two, func(b *Moment) bool { return b.s.path == a.s.path }); j >= 0 {
			return i, j, nil
		}
		of, err := os.Stat(a.s.path)
		if err != nil {
			return 0, 0, err
		}
		for j, b := range two {
			is, err := os.Stat(b.s.path)
			if err != nil {
				return 0, 0, err
			}
			if os.SameFile(of, is) {
				return i, j, nil
			}
		}
	}
	return 0, 0, ErrUnrelated
}

// top is the highest number of an inode that there was.
func (m *Moment) top() Ino {
	if m.at == nil {
		return MaxIno
	}
	return m.at.maxIno
}

// add adds where something else differs.
func (d *Difference) add(more *Difference) {
	maps.Copy(d.Inodes, more.Inodes)
	maps.Copy(d.Content, more.Content)
	maps.Copy(d.several, more.several)
	for dir, names := range more.Names {
		for name := range names {
			d.name(dir, name)
		}
	}
	d.Top = min(d.Top, more.Top)
}
