package fs

import (
	"sync"
	"syscall"

	"github.com/jacobsa/fuse/fuseops"
)

// handles are the open files and directories, by the numbers under which the kernel knows them.
type handles struct {
	mu   sync.Mutex
	open map[fuseops.HandleID]any // File or Dir. GUARDED_BY(mu)
	last fuseops.HandleID         // GUARDED_BY(mu)
}

func (h *handles) add(x any) fuseops.HandleID {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.open[h.last] = x
	return h.last
}

func (h *handles) file(id fuseops.HandleID) (File, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f, ok := h.open[id].(File); ok {
		return f, nil
	}
	return nil, syscall.EBADF
}

func (h *handles) dir(id fuseops.HandleID) (Dir, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d, ok := h.open[id].(Dir); ok {
		return d, nil
	}
	return nil, syscall.EBADF
}

func (h *handles) release(id fuseops.HandleID) error {
	h.mu.Lock()
	x := h.open[id]
	delete(h.open, id)
	h.mu.Unlock()
	if x == nil {
		return syscall.EBADF
	}
	x.(interface{ Release() }).Release()
	return nil
}

// releaseAll closes what was open when the connection ended: the kernel sends no releases then.
func (h *handles) releaseAll() {
	h.mu.Lock()
	open := h.open
	h.open = map[fuseops.HandleID]any{}
	h.mu.Unlock()
	for _, x := range open {
		x.(interface{ Release() }).Release()
	}
}
