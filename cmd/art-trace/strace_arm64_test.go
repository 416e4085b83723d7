package main

func init() {
	// Libraries are aligned to 64 KiB, the largest page size. The dynamic linker
	// unmaps what it has mapped around them for that, which depends on where the
	// kernel has put it.
	random = append(random, "munmap(")
}
