package publish

import (
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// conns are the connections of a port, on the host's side.
type conns struct {
	room chan struct{} // holds one for each

	mu   sync.Mutex
	open map[*net.TCPConn]bool // GUARDED_BY(mu)
}

// add adds one, when there is room: another that is idle for that long gives way to it.
func (cs *conns) add(c *net.TCPConn, idle time.Duration) {
	defer func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		cs.open[c] = true
	}()
	select {
	case cs.room <- struct{}{}:
		return
	default:
	}
	again := time.NewTicker(idleAgain)
	defer again.Stop()
	for {
		cs.endIdle(idle)
		select {
		case cs.room <- struct{}{}:
			return
		case <-again.C:
		}
	}
}

func (cs *conns) remove(c *net.TCPConn) {
	cs.mu.Lock()
	delete(cs.open, c)
	cs.mu.Unlock()
	<-cs.room
}

// endIdle cuts off the connection over which nothing was said for the longest time, if that is idle at least.
func (cs *conns) endIdle(idle time.Duration) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	var longest *net.TCPConn
	for c := range cs.open {
		if since, ok := idleFor(c); ok && since >= idle {
			longest, idle = c, since
		}
	}
	if longest != nil {
		_ = longest.SetLinger(0) // the other side is to see that it was cut off
		longest.Close()
	}
}

// idleFor returns for how long nothing was said over a connection, by neither side. The kernel knows.
func idleFor(c *net.TCPConn) (time.Duration, bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	var info *unix.TCPInfo
	if e := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO) }); e != nil || err != nil {
		return 0, false // it has ended
	}
	return time.Duration(min(info.Last_data_recv, info.Last_data_sent)) * time.Millisecond, true
}
