package posix

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// allocateStories are fallocate(2) with the modes that local file systems have.
func allocateStories(add adder) {
	const file = "reg x %s %s owner; truncate x 200000"
	modes := []string{"NONE", "KEEP_SIZE", "PUNCH_HOLE|KEEP_SIZE", "PUNCH_HOLE"}
	// tmpfs has not got it (shmem_fallocate in the kernel's mm/shmem.c).
	if hostCan(func(f *os.File) error { return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_ZERO_RANGE, 0, 1) }) {
		modes = append(modes, "ZERO_RANGE", "ZERO_RANGE|KEEP_SIZE")
	}
	for _, mode := range modes {
		for _, stretch := range []string{
			"0 1", "0 0", "5 7", "3 200000", "65536 65536", "65530 70000", "199999 1", "199999 2", "200000 100000", "1000000 1", "-1 5", "5 -1", "5 9223372036854775807",
		} {
			add(fmt.Sprintf(file, "0644", "root"), fmt.Sprintf("root open f x RDWR; root fallocate f %s %s; root fstat f; root read f 30; root write f new", mode, stretch))
			add("reg x 0644", fmt.Sprintf("root open f x WRONLY; root unlink x; root fallocate f %s %s; root fstat f", mode, stretch))
		}
		for _, who := range people {
			for _, bits := range []string{"6777", "4766", "2777", "0777"} {
				add(fmt.Sprintf(file, bits, "owner"), fmt.Sprintf("%[1]s open f x WRONLY; %[1]s fallocate f %[2]s 10 20", who, mode))
			}
		}
		for _, open := range []string{"open f x RDONLY", "open f x PATH", "open f d RDONLY", "open f p RDWR", "open f x WRONLY|APPEND"} {
			add("dir d 0755; fifo p 0644; reg x 0644", fmt.Sprintf("root %s; root fallocate f %s 0 100", open, mode))
		}
	}
}
