package sqlvfs

// ReadCommitted reads what the database holds of a file's content at an offset, in bytes. What has no
// row reads as zeros: a hole, what is behind the end, and what only an [Origin] supplies. It neither
// loads the inode nor takes the Store's lock, and sees nothing that is not committed yet, so it is for
// whoever reads many files that nobody changes.
func (s *Store) ReadCommitted(ino Ino, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	return s.readRows(ino, off, p)
}
