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
	readers int          // GUARDED_BY(mu); those that have not ended
	reading map[int]bool // GUARDED_BY(mu); processes that have not let go of a reader
}

const (
	// maxMaps is how much is read of what one process has mapped: about as much as the kernel lets it map.
	maxMaps = 8 << 20
	// maxReaders is how many processes are read at once. Each takes a thread, for as long as the process likes.
	maxReaders = 64
)

// Written returns at most so many inode numbers of files that processes may write through shared mappings and that no block device
// holds, as those of FUSE, as far as they can be found in the time: a process can hold up who reads what it has mapped. Such a one is
// not asked again until it has answered.
func (m *Mappings) Written(list []Process, most int, patience time.Duration) (inodes []uint64) {
	pids, found, over := make(chan int, len(list)), make(chan []uint64, len(list)), make(chan struct{})
	defer close(over)
	for _, p := range list {
		pids <- p.PID
	}
	close(pids)
	left := len(list)
	if !m.start(left, pids, found, over) {
		return nil // all are held up
	}
	seen := map[uint64]bool{}
	for late := time.After(patience); left > 0 && len(inodes) < most; left-- {
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

// start has readers find what processes have mapped, at most so many, until nobody waits for it. It tells whether there are any.
func (m *Mappings) start(most int, pids <-chan int, found chan<- []uint64, over <-chan struct{}) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := min(most, maxReaders-m.readers)
	m.readers += n
	for range n {
		go m.read(pids, found, over)
	}
	return n > 0
}

// read is a reader. found has room for each process.
func (m *Mappings) read(pids <-chan int, found chan<- []uint64, over <-chan struct{}) {
	defer func() {
		m.mu.Lock()
		m.readers--
		m.mu.Unlock()
	}()
	for pid := range pids {
		select {
		case <-over:
			return
		default:
		}
		var inodes []uint64
		if m.begin(pid) {
			inodes = written(pid)
			m.end(pid)
		}
		found <- inodes
	}
}

// begin notes that a process is read, and tells whether it was not.
func (m *Mappings) begin(pid int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reading[pid] {
		return false
	}
	if m.reading == nil {
		m.reading = map[int]bool{}
	}
	m.reading[pid] = true
	return true
}

func (m *Mappings) end(pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.reading, pid)
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
