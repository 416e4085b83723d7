package sqlvfs

import "github.com/ncruces/go-sqlite3"

// object is an object of a host tree.
type object struct {
	base     string
	dev, ino uint64
}

func (o *Origin) object() object { return object{o.Base, o.Dev, o.Fingerprint.Ino} }

// replaced tells whether the object is another one than the number shown to programs was made of: a pull has put the inode's
// content on the host as a new file, and programs know the number.
func (o *Origin) replaced() bool {
	return o.Number != o.Fingerprint.Number(o.Dev) && o.Number != o.Fingerprint.Number(^o.Dev)
}

// FindObject returns the row number of an inode whose origin is an object of a workspace's tree, or 0 if there may be none, or
// one that [Tx.FindNumber] finds. It is to be checked: the origin may be another one by now.
func (tx *Tx) FindObject(base string, f *Fingerprint) (Ino, error) {
	if tx.objects == nil || tx.objectsAt != tx.epoch {
		if err := tx.loadObjects(); err != nil {
			return 0, err
		}
	}
	return tx.objects[object{base, f.Dev, f.Ino}], nil
}

// loadObjects looks at all origins once. What changes later, SetOrigin notes.
func (tx *Tx) loadObjects() error {
	tx.objects, tx.objectsAt = map[object]Ino{}, tx.epoch
	err := tx.each(`SELECT o.ino, b.name, o.dev, o.base_ino, f.base_ino FROM art_origin o
		JOIN art_base b ON b.id=o.base JOIN fs_origin f ON f.delta_ino=o.ino`, func(q *sqlite3.Stmt) {
		o := Origin{Base: string(q.ColumnRawText(1)), Number: uint64(q.ColumnInt64(4))}
		o.Dev, o.Fingerprint.Ino = uint64(q.ColumnInt64(2)), uint64(q.ColumnInt64(3))
		ino := Ino(q.ColumnInt64(0))
		tx.noteObject(ino, tx.moved.origin(ino, &o))
	})
	if err != nil {
		tx.objects = nil
		return err
	}
	for ino, in := range tx.live {
		tx.noteObject(ino, in.Origin)
	}
	return nil
}

// noteObject has FindObject find an inode, if those are known that it finds.
func (tx *Tx) noteObject(ino Ino, o *Origin) {
	if tx.objects != nil && o != nil && o.replaced() {
		tx.objects[o.object()] = ino
	}
}
