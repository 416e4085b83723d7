package fsck

import (
	"fmt"
	"math"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// tableCopy copies the rows of one table.
type tableCopy struct {
	*salvager
	name    string
	columns []column
	insert  string
	refused int // rows that the new table does not take
}

// numbers is a range of row numbers, both ends included.
type numbers struct{ first, last int64 }

func (t *tableCopy) selection(rest string) string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = sqlite3.QuoteIdentifier(c.name)
	}
	return "SELECT " + strings.Join(names, ", ") + rest
}

func (t *tableCopy) insertion() string {
	names, values := make([]string, len(t.columns)), make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i], values[i] = sqlite3.QuoteIdentifier(c.name), "?"
	}
	return "INSERT OR IGNORE INTO " + sqlite3.QuoteIdentifier(t.name) + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// byNumber copies a table whose rows have numbers. Where a page cannot be read, SQLite can still go
// to any number before and behind it: a stretch is read from both ends, and what is left in the
// middle is halved, until nothing is found any more.
func (t *tableCopy) byNumber() error {
	from := ", _rowid_ FROM " + sqlite3.QuoteIdentifier(t.name) + " NOT INDEXED WHERE _rowid_ BETWEEN ? AND ? ORDER BY _rowid_"
	up, down := t.selection(from), t.selection(from+" DESC")
	if q, _, err := t.from.Prepare(up); err != nil {
		t.unreadable[t.name] = true
		return t.tolerate(err, fmt.Sprintf("table %q", t.name))
	} else {
		q.Close()
	}
	var unreadable []numbers
	probes := 0
	for todo := []numbers{{math.MinInt64, math.MaxInt64}}; len(todo) > 0; {
		g := todo[0]
		todo = todo[1:]
		if probes >= maxProbes {
			unreadable = append(unreadable, g)
			continue
		}
		probes++
		last, some, err := t.scan(up, g)
		if err == nil {
			continue
		} else if !isDamage(err) {
			return err
		}
		if some {
			if last == g.last {
				continue
			}
			g.first = last + 1
		}
		if first, some, err := t.scan(down, g); err == nil {
			continue
		} else if !isDamage(err) {
			return err
		} else if some {
			if first == g.first {
				continue
			}
			g.last = first - 1
		}
		if g.first == g.last {
			unreadable = append(unreadable, g)
			continue
		}
		// Unsigned: a range may be longer than the largest number.
		middle := g.first + int64((uint64(g.last)-uint64(g.first))/2)
		todo = append(todo, numbers{g.first, middle}, numbers{middle + 1, g.last})
	}
	if len(unreadable) > 0 {
		t.unreadable[t.name] = true
		first, last := unreadable[0].first, unreadable[0].last
		for _, g := range unreadable {
			first, last = min(first, g.first), max(last, g.last)
		}
		t.lost("table %q: rows from %d to %d are in part on pages that cannot be read", t.name, first, last)
	}
	return t.told()
}

// byKey copies a table whose rows have no numbers, from both ends.
func (t *tableCopy) byKey(up, down string) error {
	for _, order := range []string{up, down} {
		_, _, err := t.scan(t.selection(", 0 FROM "+sqlite3.QuoteIdentifier(t.name)+" WHERE ? <= ? ORDER BY "+order), numbers{0, 0})
		if err == nil {
			return t.told()
		} else if !isDamage(err) {
			return err
		}
	}
	t.lost("table %q: rows are in part on pages that cannot be read", t.name)
	return t.told()
}

func (t *tableCopy) told() error {
	if t.refused > 0 {
		t.lost("table %q: %d rows have the key of another one, or lack a value", t.name, t.refused)
	}
	return nil
}

// scan copies rows of a range until there are no more or one cannot be read, and returns the number
// of the last one. Errors of the new database are not isDamage.
func (t *tableCopy) scan(query string, g numbers) (last int64, some bool, err error) {
	q, _, err := t.from.Prepare(query)
	if err != nil {
		return 0, false, err
	}
	defer q.Close()
	q.BindInt64(1, g.first)
	q.BindInt64(2, g.last)
	for q.Step() {
		if err := t.copyRow(q); err != nil {
			return last, some, err
		}
		last, some = q.ColumnInt64(len(t.columns)), true
	}
	return last, some, q.Err()
}

// newError is an error of the new database, told apart from those of the old one.
type newError struct{ text string }

func (e newError) Error() string { return e.text }

func (t *tableCopy) copyRow(q *sqlite3.Stmt) error {
	in := t.to.Prep(t.insert)
	for i, c := range t.columns {
		switch kind := q.ColumnType(i); {
		case kind == sqlite3.INTEGER:
			in.BindInt64(i+1, q.ColumnInt64(i))
		case kind == sqlite3.FLOAT:
			in.BindFloat(i+1, q.ColumnFloat(i))
		case kind == sqlite3.TEXT:
			in.BindRawText(i+1, q.ColumnRawText(i))
		case kind == sqlite3.BLOB:
			in.BindBlob(i+1, q.ColumnRawBlob(i))
		case c.required && database.IsTreeTable(t.name):
			in.BindInt64(i+1, 0) // the rules see to the rest
		default:
			in.BindNull(i + 1)
		}
	}
	if err := t.to.Run(in); err != nil {
		return newError{fmt.Sprintf("copy a row of table %q: %v", t.name, err)}
	}
	if t.to.Changes() == 0 {
		t.refused++
	} else {
		t.some[t.name] = true
	}
	return nil
}
