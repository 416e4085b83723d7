package processes

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

// Mappings finds what processes of a guest have mapped.
type Mappings struct {
	mu      sync.Mutex
	reading map[int]bool // GUARDED_BY(mu); processes that have not let go of a reader
}

// maxMaps is how much is read of what one process has mapped: about as much as the kernel lets it map.
const maxMaps = 8 << 20

// Written returns at most so many inode numbers of files that processes may write through shared mappings and that no block device
// holds, as those of FUSE, as far as they can be found in the time: a process can hold up who reads what it has mapped. Such a one is
// not asked again until it has answered.
func (m *Mappings) Written(list []Process, most int, patience time.Duration) (inodes []uint64) {
	found := make(chan []uint64, len(list))
	asked := 0
	m.mu.Lock()
	if m.reading == nil {
		m.reading = map[int]bool{}
	}
	for _, p := range list {
		if m.reading[p.PID] {
			continue
		}
		m.reading[p.PID] = true
		asked++
		go func() {
			inodes := written(p.PID)
			m.mu.Lock()
			delete(m.reading, p.PID)
			m.mu.Unlock()
			found <- inodes
		}()
	}
	m.mu.Unlock()
	seen := map[uint64]bool{}
	for late := time.After(patience); asked > 0 && len(inodes) < most; asked-- {
		select {
		case some := <-found:
			for _, ino := range some {
				if !seen[ino] && len(inodes) < most {
					seen[ino] = true
					inodes = append(inodes, ino)
				}
			}
		case <-late:
			return inodes
		}
	}
	return inodes
}

// written reads proc_pid_maps(5) of a process. What it has only to read it has not written, but for one that took the right to
// write from its mapping after it had.
func written(pid int) (inodes []uint64) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil // it has ended
	}
	defer f.Close()
	for lines := bufio.NewScanner(io.LimitReader(f, maxMaps)); lines.Scan(); {
		// address perms offset dev inode pathname
		fields := bytes.SplitN(lines.Bytes(), []byte(" "), 6)
		if len(fields) < 5 || len(fields[1]) != 4 || fields[1][1] != 'w' || fields[1][3] != 's' || !bytes.HasPrefix(fields[3], []byte("00:")) {
			continue
		}
		if ino, err := strconv.ParseUint(string(fields[4]), 10, 64); err == nil && ino != 0 {
			inodes = append(inodes, ino)
		}
	}
	return inodes
}
