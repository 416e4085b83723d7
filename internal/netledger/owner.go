package netledger

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/processes"
)

const (
	// Looking for processes may take a share of the time in the long run, and so much at once.
	ownerShare = 5 // one part in so many
	ownerBurst = 200 * time.Millisecond
	// mostProcesses are looked at, and mostDescriptors of them all.
	mostProcesses   = 4096
	mostDescriptors = 20_000
	// commandWithin is how long a process may take to give its command line: that is memory of its own.
	commandWithin = 10 * time.Millisecond
	// mostStuck is how many may be so late that nobody knows whether they ever will.
	mostStuck = 4
)

// Owners finds the process that has a socket of the guest's network, among those below a process. The kernel says which socket it is
// (sock_diag(7)) and who has it (/proc/PID/fd); of what it finds, the command line alone is what the guest says.
type Owners struct {
	root    int
	sockets int // asks the kernel about the guest's network; -1 without

	mu     sync.Mutex
	full   time.Time           // GUARDED_BY(mu); when there is time again for all that may be looked for at once
	known  []processes.Process // GUARDED_BY(mu); those who had sockets, the last one first
	stuck  chan struct{}       // holds one for each that reads a command line
	number uint32              // GUARDED_BY(mu); of the last question
}

// NewOwners returns what finds processes below root. sockets is a netlink socket that was made in the guest's network, and is Owners' to
// close; -1 finds none.
func NewOwners(root, sockets int) *Owners {
	if sockets >= 0 {
		// The kernel answers at once; and if ever it did not, the network would stand still.
		timeout := unix.NsecToTimeval(int64(10 * time.Millisecond))
		_ = unix.SetsockoptTimeval(sockets, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)
	}
	return &Owners{root: root, sockets: sockets, stuck: make(chan struct{}, mostStuck)}
}

// Close closes the socket.
func (o *Owners) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sockets >= 0 {
		unix.Close(o.sockets)
		o.sockets = -1
	}
}

// Find returns the process of an event, in the host's numbers, and its command line; 0 where it cannot be found.
func (o *Owners) Find(e *control.NetEvent) (pid int, command []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	began := time.Now()
	if o.sockets < 0 || o.full.Sub(began) > ownerBurst*ownerShare {
		return 0, nil
	}
	defer func() {
		if o.full.Before(began) {
			o.full = began
		}
		o.full = o.full.Add(time.Since(began) * ownerShare)
	}()
	guest, err := netip.ParseAddrPort(e.Guest)
	peer, err2 := netip.ParseAddrPort(e.Peer)
	if err != nil || err2 != nil {
		return 0, nil
	}
	inode, err := o.inode(guest, peer, e.UDP)
	if err != nil || inode == 0 {
		return 0, nil
	}
	p, ok := o.holder(inode)
	if !ok {
		return 0, nil
	}
	return p.PID, o.command(p)
}

// holder returns the process that has a socket open.
func (o *Owners) holder(inode uint32) (processes.Process, bool) {
	link, left := "socket:["+strconv.FormatUint(uint64(inode), 10)+"]", mostDescriptors
	for i, p := range o.known {
		if i < 16 && holds(p.PID, link, &left) {
			copy(o.known[1:i+1], o.known[:i])
			o.known[0] = p
			return p, true
		}
	}
	list := processes.Below(o.root, mostProcesses, func(int) bool { return false })
	for i := len(list) - 1; i >= 0 && left > 0; i-- { // the youngest are likely
		if p := list[i]; holds(p.PID, link, &left) {
			o.known = append([]processes.Process{p}, o.known[:min(len(o.known), 15)]...)
			return p, true
		}
	}
	return processes.Process{}, false
}

// holds tells whether a process has a descriptor that is such a link.
func holds(pid int, link string, left *int) bool {
	dir, err := os.Open("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		return false
	}
	defer dir.Close()
	buf := make([]byte, len(link)+1)
	for *left > 0 {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			*left--
			if n, err := unix.Readlinkat(int(dir.Fd()), name, buf); err == nil && string(buf[:n]) == link {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
	return false
}

// command returns the command line of a process, or the name that the kernel has of it.
func (o *Owners) command(p processes.Process) []string {
	fallback := []string{p.Comm}
	select {
	case o.stuck <- struct{}{}:
	default:
		return fallback
	}
	found := make(chan []string, 1)
	go func() {
		defer func() { <-o.stuck }()
		found <- processes.Commands([]processes.Process{p}, time.Minute)[0]
	}()
	select {
	case command := <-found:
		return bounded(command, control.MaxFlowCommand)
	case <-time.After(commandWithin):
		return fallback
	}
}

// bounded cuts a command line off.
func bounded(command []string, most int) []string {
	room := most - len(command)
	for i, word := range command {
		if room -= len(word); room < 0 {
			return append(command[:i:i], word[:max(0, len(word)+room)]+"...")
		}
	}
	return command
}

var errNoSocket = errors.New("there is no such socket")

// inode asks the kernel for the number of a socket by both its ends: inet_diag_req_v2 and inet_diag_msg in linux/inet_diag.h.
func (o *Owners) inode(guest, peer netip.AddrPort, udp bool) (uint32, error) {
	family, protocol := byte(unix.AF_INET), byte(unix.IPPROTO_TCP)
	if guest.Addr().Is6() {
		family = unix.AF_INET6
	}
	if udp {
		protocol = unix.IPPROTO_UDP
		guest, peer = peer, guest // as the kernel has it there, for historical reasons (udp_dump_one in net/ipv4/udp_diag.c)
	}
	const head, request = unix.SizeofNlMsghdr, 56
	o.number++
	m := make([]byte, head+request)
	binary.NativeEndian.PutUint32(m, uint32(len(m)))
	binary.NativeEndian.PutUint16(m[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST)
	binary.NativeEndian.PutUint32(m[8:], o.number)
	b := m[head:]
	b[0], b[1] = family, protocol
	binary.NativeEndian.PutUint32(b[4:], ^uint32(0)) // in any state
	binary.BigEndian.PutUint16(b[8:], guest.Port())
	binary.BigEndian.PutUint16(b[10:], peer.Port())
	copy(b[12:28], guest.Addr().AsSlice())
	copy(b[28:44], peer.Addr().AsSlice())
	binary.NativeEndian.PutUint64(b[48:], ^uint64(0)) // no cookie
	if err := unix.Sendto(o.sockets, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, err
	}
	answer := make([]byte, 4096)
	for {
		n, _, err := unix.Recvfrom(o.sockets, answer, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case n < head || binary.NativeEndian.Uint32(answer[8:]) != o.number:
			continue // of a question that was given up
		case binary.NativeEndian.Uint16(answer[4:]) != unix.SOCK_DIAG_BY_FAMILY || n < head+72:
			return 0, errNoSocket
		}
		return binary.NativeEndian.Uint32(answer[head+68:]), nil
	}
}
