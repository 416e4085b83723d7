package processes

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Of what a process has mapped, what it shares and may write is found, on a file system that no device holds.
func TestMappings(t *testing.T) {
	var inos []uint64
	for _, how := range []struct{ protection, flags int }{
		{unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED}, {unix.PROT_READ, unix.MAP_SHARED}, {unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE},
	} {
		fd, err := unix.MemfdCreate("mapped", unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		var st syscall.Stat_t
		if err := syscall.Fstat(fd, &st); err != nil {
			t.Fatal(err)
		}
		inos = append(inos, st.Ino)
		if err := unix.Ftruncate(fd, 4096); err != nil {
			t.Fatal(err)
		}
		mem, err := unix.Mmap(fd, 0, 4096, how.protection, how.flags)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Munmap(mem)
	}
	own, _ := stat(os.Getpid())
	var m Mappings
	got := m.Written([]Process{own}, 1000, time.Minute)
	if !slices.Contains(got, inos[0]) || slices.Contains(got, inos[1]) || slices.Contains(got, inos[2]) {
		t.Errorf("of %d, the first is written: %d", inos, got)
	}
	if got := m.Written([]Process{own, own}, 0, time.Minute); len(got) != 0 {
		t.Errorf("of none: %d", got)
	}
	// Who does not let go of a reader is not asked by another.
	var one Mappings
	one.begin(own.PID)
	if got := one.Written([]Process{own}, 1000, time.Minute); len(got) != 0 {
		t.Errorf("of one that is read: %d", got)
	}
	// However many processes there are, there are no more readers than so many.
	many := slices.Repeat([]Process{own}, 3*maxReaders)
	var none Mappings
	if got := none.Written(many, 1000, time.Minute); !slices.Contains(got, inos[0]) {
		t.Errorf("of more than there are readers: %d", got)
	}
	all := Mappings{readers: maxReaders}
	if got := all.Written(many, 1000, time.Minute); len(got) != 0 {
		t.Errorf("with all readers held up: %d", got)
	}
}
