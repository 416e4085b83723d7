package sqlvfs

// Content of files that are made beside the writer comes before they do, a part at a time: so it need be in nobody's memory as
// a whole, and the step that shows the files moves none of it. Until then they are orphans.

// Content is a part of a file that is going to be made.
type Content struct {
	Ino  Ino
	Off  int64
	Data []byte
}

// Intake is what a writer has taken in of files that another process is going to have made. One goroutine at a time may use
// it.
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
		in, err := tx.New(Attr{Mode: modeRegular, Ctime: Now()})
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

// passContents passes on content of new files, as far as it is complete, when there is much of it. LOCKS_REQUIRED(mu)
func (s *Store) passContents() error {
	tx := &s.tx
	if tx.gather.bytes < tx.passAt+batchBytes {
		return nil
	}
	c := &Changes{FirstIno: tx.session.firstIno}
	var passed []chunkKey
	for k, chunk := range tx.gather.chunks {
		// Who makes a file writes it from its beginning, and names it when it is complete.
		if chunk.patch != nil || k.in.Ino < tx.session.firstIno || k.in.Attr.Nlink == 0 && (k.index+1)*tx.chunkSize > k.in.Attr.Size {
			continue
		}
		if len(chunk.data) > 0 {
			c.Contents = append(c.Contents, Content{k.in.Ino, k.index * tx.chunkSize, chunk.data})
		}
		passed = append(passed, k)
	}
	if err := s.beside(c); err != nil {
		return err
	}
	for _, k := range passed {
		chunk := k.in.chunks[k.index]
		delete(k.in.chunks, k.index)
		delete(tx.gather.chunks, k)
		tx.discard(chunk)
	}
	tx.passAt = tx.gather.bytes
	return nil
}
