package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/riverlytech/art/internal/processes"
	"github.com/riverlytech/art/internal/replica/place"
)

// artReplicated is a session as artSystem has it, over /dev/fuse, whose database is copied meanwhile: below a place, or without one to a
// directory in scratch. It is compared with its like (art-device), and only if it is named.
func artReplicated(bin, to string) *system {
	s := artSystem(replicatedName, bin, deviceWire)
	s.named, s.uncached = true, nil
	open := s.open
	s.open = func(base, scratch string) (*session, error) {
		url := "file://" + filepath.Join(scratch, "copy")
		var err error
		if to != "" {
			url, err = place.Below(to, fmt.Sprint(time.Now().UnixNano())) // none has the copy of another database
		}
		if dir := place.Directory(url); err == nil && dir != "" {
			err = os.MkdirAll(dir, 0o700)
		}
		if err == nil {
			err = useSettings(scratch, fmt.Sprintf(`{"replicate": %q}`, url))
		}
		if err != nil {
			return nil, err
		}
		opened, err := open(base, scratch)
		if err != nil {
			return nil, err
		}
		for _, p := range processes.Tree(opened.worker.Process.Pid) {
			if p.Comm == "art-replicate" {
				opened.copier = watch(p.PID)
				return opened, nil
			}
		}
		opened.close()
		return nil, fmt.Errorf("the session has no art-replicate: %s", opened.told)
	}
	return s
}

// watched is a process whose use is looked at until it ends.
type watched struct {
	process
	last  usage // valid once ended is closed
	ended chan struct{}
}

func watch(pid int) *watched {
	w := &watched{process: process{pid: pid}, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		for {
			now, err := w.usage()
			if err != nil {
				return
			}
			w.last = now
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return w
}
