package sqlvfs

import "syscall"

// The content of files that another process makes is sent ahead of them, a part at a time: nobody holds all of it in memory, and
// the step that gives the files their names moves no content. Until that step they are orphans.

// Content is a part of a file that is going to be made.
type Content struct {
	Ino  Ino
	Off  int64
	Data []byte
}

// Intake holds the files that have come ahead of their names. One goroutine at a time may use it.
type Intake struct {
	s    *Store
	made map[Ino]*Inode // by the numbers that they have there; acquired
}

// NewIntake begins to take in content. It must be dropped before the Store is closed.
func (s *Store) NewIntake() *Intake { return &Intake{s, map[Ino]*Inode{}} }

// Take takes in the content of changes, and waits while there is too much that is not committed. Files that are made have
// their size afterwards.
func (k *Intake) Take(c *Changes) error {
	for i := range c.Contents {
		part := &c.Contents[i]
		in, err := k.file(part.Ino)
		if err == nil {
			err = k.s.WriteAt(in, part.Data, part.Off, nil, Now())
		}
		if err != nil {
			return err
		}
	}
	for i := range c.Made {
		m := &c.Made[i]
		if !m.Attr.IsRegular() {
			continue
		}
		in, err := k.file(m.Ino)
		if err == nil && in.Attr.Size != m.Attr.Size {
			err = k.s.Truncate(in, m.Attr.Size, nil, Now())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file returns the file that stands for one that is going to be made.
func (k *Intake) file(ino Ino) (*Inode, error) {
	if in := k.made[ino]; in != nil {
		return in, nil
	}
	err := k.s.Update(func(tx *Tx) error {
		in, err := tx.New(Attr{Mode: syscall.S_IFREG, Ctime: Now()})
		if err == nil {
			k.made[ino] = in
		}
		return err
	})
	return k.made[ino], err
}

// Drop gives up all that has no name.
func (k *Intake) Drop() {
	k.s.View(func(tx *Tx) error {
		for _, in := range k.made {
			tx.Put(in)
		}
		return nil
	})
	clear(k.made)
}
