package sqlvfs

// Patched tells whether a version of the host's file may be what a pull has made of the origin's, which was
// killed meanwhile. The file's change time cannot be set back by anybody.
func (o *Origin) Patched(now Fingerprint, size int64) bool {
	return o.Until != 0 && now.Ctime.Sec <= o.Until && now.Dev == o.Dev && now.Ino == o.Fingerprint.Ino && now.Size >= o.Size && now.Size <= size
}
