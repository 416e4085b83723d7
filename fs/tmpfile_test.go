package fs

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A file without a name (O_TMPFILE) can be written and read, gets a name by linkat(2), and is gone without one.
func TestTmpfile(t *testing.T) {
	m := newMounted(t)
	m.plant(t, "kept", []byte("of the host"))
	m.must(t, os.Mkdir(m.at("ws/shared"), 0o2777))
	for _, dir := range []string{"", "ws", "ws/shared"} {
		tmpfile := func(flags int) (int, func(name string) error) {
			fd, err := unix.Open(m.at(dir), unix.O_TMPFILE|unix.O_RDWR|flags, 0o640)
			m.must(t, err)
			_, err = unix.Write(fd, noise[:100_000])
			m.must(t, err)
			return fd, func(name string) error {
				return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, m.at(dir+"/"+name), unix.AT_SYMLINK_FOLLOW)
			}
		}
		before := m.names(t, dir)
		linked, link := tmpfile(0)
		lost, _ := tmpfile(0)
		private, linkPrivate := tmpfile(unix.O_EXCL)
		if names := m.names(t, dir); names != before {
			t.Errorf("%q lists %q, and did %q", dir, names, before)
		}
		var st unix.Stat_t
		m.must(t, unix.Fstat(linked, &st))
		if st.Nlink != 0 || st.Mode != unix.S_IFREG|0o640 || st.Size != 100_000 {
			t.Errorf("in %q: %d links, mode %o, %d bytes", dir, st.Nlink, st.Mode, st.Size)
		}
		if err := linkPrivate("private"); err != unix.ENOENT {
			t.Errorf("linkat of a file with O_EXCL: %v", err)
		}
		m.must(t, unix.Fsync(linked)) // it is committed without a name
		m.must(t, link("linked"))
		m.must(t, link("again"))
		m.must(t, unix.Fstat(linked, &st))
		if st.Nlink != 2 {
			t.Errorf("in %q: %d links, of 2", dir, st.Nlink)
		}
		m.must(t, unix.Unlink(m.at(dir+"/linked")))
		m.must(t, unix.Unlink(m.at(dir+"/again")))
		if err := link("late"); err != unix.ENOENT {
			t.Errorf("linkat of a file that was removed: %v", err)
		}
		for _, fd := range []int{linked, lost, private} {
			unix.Close(fd)
		}
		kept, link := tmpfile(0)
		m.must(t, link("kept-tmpfile"))
		unix.Close(kept)
		m.reads(t, dir+"/kept-tmpfile", noise[:100_000])
	}
	m.remount(t)
	for _, dir := range []string{"", "ws", "ws/shared"} {
		m.reads(t, dir+"/kept-tmpfile", noise[:100_000])
	}
	m.must(t, m.unmount())
	if n := rows(t, m.db, "art_orphan"); n != 0 {
		t.Errorf("%d orphans are left", n)
	}
	// The root, the workspace, the directory in it, and the three files that have a name.
	if n := rows(t, m.db, "fs_inode"); n != 6 {
		t.Errorf("%d inodes are left", n)
	}
}
