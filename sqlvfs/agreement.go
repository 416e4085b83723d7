package sqlvfs

import (
	"errors"
	"strconv"
)

// Baselines say what the host and the database have agreed on, and have no history: they are of the host's files as much as of
// the tree. With the rows of an older checkpoint beside them, what a push or a pull has brought since would look like changes of
// the guest's, and the next pull would take them from the host. So a row of fs_config notes the newest checkpoint before the last
// agreement, and the tree does not go back to that or an older one.

const agreedKey = "art_agreed"

// ErrAgreed says that a checkpoint is older than the last push, pull or reset.
var ErrAgreed = errors.New("it is older than the last push, pull or reset")

// putAgreement notes that the transaction is of an agreement.
func (w *writer) putAgreement(*batch) error {
	if !w.agreed || w.newest.ID == 0 {
		return nil
	}
	return do(w.conn, "INSERT OR REPLACE INTO fs_config (key, value) VALUES (?,?)", agreedKey, strconv.FormatInt(w.newest.ID, 10))
}

// agreement returns the newest checkpoint that is older than the last agreement; 0: there is none.
func (tx *Tx) agreement() (id int64, err error) { return agreementOf(tx.meta) }

func agreementOf(c *conn) (int64, error) {
	return queryNumber(c, "SELECT CAST(value AS INTEGER) FROM fs_config WHERE key=?", agreedKey)
}
