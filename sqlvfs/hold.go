package sqlvfs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// Patterns of files that a pull is to hold back, beside those that it always does, are rows of fs_config: the key is
// holdKey with the pattern, and the value says why. They only become more.
const (
	holdKey     = "art_hold:"
	maxHolds    = 256
	maxHoldText = 512 // bytes of a pattern, and of a reason
)

// qHolds bounds what is read: another program may have written the table. The end of the range is the text after all that
// begin with holdKey.
const qHolds = `SELECT substr(CAST(key AS BLOB), 1, 600), substr(CAST(value AS BLOB), 1, 600) FROM fs_config
	WHERE key >= 'art_hold:' AND key < 'art_hold;' ORDER BY key LIMIT 256`

// Hold is a pattern, and why what fits it is held back.
type Hold struct{ Pattern, Why string }

// Holds returns the patterns that the database remembers, those too that are not committed yet. They are anybody's word.
func (tx *Tx) Holds() ([]Hold, error) {
	var list []Hold
	err := tx.each(qHolds, func(q *sqlite3.Stmt) {
		h := Hold{strings.TrimPrefix(string(q.ColumnRawBlob(0)), holdKey), string(q.ColumnRawBlob(1))}
		if h.valid() {
			list = append(list, h)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, b := range []*batch{tx.inflight, tx.gather} {
		if b != nil {
			list = append(list, b.holds...)
		}
	}
	return list, nil
}

func (h *Hold) valid() bool {
	return h.Pattern != "" && len(h.Pattern) <= maxHoldText && len(h.Why) <= maxHoldText
}

// AddHolds has the database remember patterns. The next transaction takes them, before which no change is committed that
// comes afterwards. Alone they do not count as a change, see Changed.
func (s *Store) AddHolds(list []Hold) error {
	return s.View(func(tx *Tx) error { return tx.addHolds(list) })
}

func (tx *Tx) addHolds(list []Hold) error {
	if len(list) == 0 {
		return nil
	}
	if tx.readOnly {
		return ErrReadOnly
	}
	known, err := tx.Holds()
	if err != nil {
		return err
	}
	for _, h := range list {
		switch {
		case slices.ContainsFunc(known, func(k Hold) bool { return k.Pattern == h.Pattern }):
			continue
		case !h.valid():
			return fmt.Errorf("hold back %.40q: the pattern or its reason is too long", h.Pattern)
		case len(known) >= maxHolds:
			return fmt.Errorf("hold back %.40q: %d patterns are remembered, and no more can be", h.Pattern, maxHolds)
		}
		known = append(known, h)
		tx.begin()
		tx.gather.holds = append(tx.gather.holds, h)
	}
	return nil
}

func (w *writer) putHolds(b *batch) error {
	for _, h := range b.holds {
		if err := do(w.conn, "INSERT OR IGNORE INTO fs_config (key, value) VALUES (?,?)", holdKey+h.Pattern, h.Why); err != nil {
			return err
		}
	}
	return nil
}
