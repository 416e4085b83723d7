package fs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/fusemount"
)

// held is a file system in which a lookup of "held..." waits for one of "other...".
type held struct {
	FileSystem
	others chan struct{}
}

func (h *held) Lookup(parent Ino, name string) (Entry, error) {
	switch {
	case strings.HasPrefix(name, "held"):
		<-h.others
	case strings.HasPrefix(name, "other"):
		h.others <- struct{}{}
	}
	return h.FileSystem.Lookup(parent, name)
}

// An operation that has to wait for the host holds up nobody else, whatever it is.
func TestWhoWaitsHoldsUpNobody(t *testing.T) {
	fsys := &held{others: make(chan struct{}, 1)}
	dir, mounted := serveWith(t, func(overlay FileSystem) FileSystem { fsys.FileSystem = overlay; return fsys })
	if err := os.Mkdir(dir+"/d", 0o755); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		ended := make(chan error, 3)
		look := func(path string) {
			_, err := os.Lstat(dir + path)
			if errors.Is(err, os.ErrNotExist) {
				err = nil
			}
			ended <- err
		}
		// In different directories: the kernel asks for one name of a directory at a time.
		go look(fmt.Sprint("/held", round))
		time.Sleep(20 * time.Millisecond)
		go look(fmt.Sprint("/d/other", round))
		for range 2 {
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(10 * time.Second):
				t.Error("nothing goes on")
				fsys.others <- struct{}{}
				<-ended
			}
		}
		if round == 1 {
			time.Sleep((parkAfter + 20) * takeFor) // until nobody looks any more
		}
	}
	if err := fusemount.Unmount(dir, false); err != nil {
		t.Fatal(err)
	}
	if err := mounted.Join(t.Context()); err != nil {
		t.Error(err)
	}
}
