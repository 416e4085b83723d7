package netgate

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/riverlytech/art/internal/control"
)

// wire is the link to the guest's kernel: a TUN device, or a packet socket at the other end of a pair of Ethernet devices. With each
// packet comes what is missing in it (struct virtio_net_hdr), so that neither side takes the checksum of what never leaves memory.
type wire struct {
	file  *os.File
	raw   syscall.RawConn
	head  []byte // what precedes each packet: with Ethernet another header beside
	ended func(error)

	mu         sync.RWMutex
	mtu        uint32                  // GUARDED_BY(mu)
	dispatcher stack.NetworkDispatcher // GUARDED_BY(mu)
	reader     sync.WaitGroup
}

const (
	vnetSize    = 10 // struct virtio_net_hdr in include/uapi/linux/virtio_net.h
	needsCsum   = 1  // VIRTIO_NET_HDR_F_NEEDS_CSUM
	udpChecksum = 6  // where it is in the header of UDP
	mostRead    = 64 << 10
	// A packet up to this is copied: it would keep mostRead otherwise.
	fewBytes = 8 << 10
)

// newWire returns the link that is open as fd. What ends it is told to ended.
func newWire(fd int, mtu uint32, ended func(error)) (*wire, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	w := &wire{mtu: mtu, ended: ended, head: make([]byte, vnetSize)}
	if st.Mode&unix.S_IFMT == unix.S_IFSOCK {
		// The guest's device takes what is for it, whomever it is from.
		w.head = append(w.head, make([]byte, header.EthernetMinimumSize)...)
		copy(w.head[vnetSize:], control.GuestLink[:])
	}
	if len(w.head)+int(mtu) > mostRead {
		return nil, errors.New("packets are too long")
	}
	w.file = os.NewFile(uintptr(fd), "wire")
	var err error
	w.raw, err = w.file.SyscallConn()
	return w, err
}

// Attach implements stack.LinkEndpoint.
func (w *wire) Attach(dispatcher stack.NetworkDispatcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dispatcher == nil && dispatcher != nil {
		w.reader.Go(w.read)
	}
	if w.dispatcher = dispatcher; dispatcher == nil {
		w.file.Close()
	}
}

// read reads packets until the device is gone.
func (w *wire) read() {
	view := buffer.NewViewSize(mostRead)
	for {
		n, err := w.file.Read(view.AsSlice())
		if errors.Is(err, unix.ENETDOWN) { // it comes up again
			continue
		}
		if err != nil {
			w.ended(err)
			return
		}
		if n <= len(w.head) {
			continue
		}
		var packet *buffer.View
		if n <= fewBytes {
			packet = buffer.NewViewWithData(view.AsSlice()[len(w.head):n])
		} else {
			packet, view = view, buffer.NewViewSize(mostRead)
			packet.CapLength(n)
			packet.TrimFront(len(w.head))
		}
		w.deliver(packet)
	}
}

func (w *wire) deliver(packet *buffer.View) {
	protocol := header.IPv4ProtocolNumber
	switch header.IPVersion(packet.AsSlice()) {
	case header.IPv4Version:
	case header.IPv6Version:
		protocol = header.IPv6ProtocolNumber
	default:
		packet.Release()
		return
	}
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(packet)})
	defer pkt.DecRef()
	w.mu.RLock()
	dispatcher := w.dispatcher
	w.mu.RUnlock()
	if dispatcher != nil {
		dispatcher.DeliverNetworkPacket(protocol, pkt)
	}
}

// WritePackets implements stack.LinkEndpoint.
func (w *wire) WritePackets(pkts stack.PacketBufferList) (int, tcpip.Error) {
	for i, pkt := range pkts.AsSlice() {
		if err := w.write(pkt); err != nil {
			return i, &tcpip.ErrClosedForSend{}
		}
	}
	return pkts.Len(), nil
}

func (w *wire) write(pkt *stack.PacketBuffer) error {
	var room [vnetSize + header.EthernetMinimumSize]byte
	head := room[:copy(room[:], w.head)]
	w.describe(head, pkt)
	slices := append(make([][]byte, 0, 8), head)
	slices = append(slices, pkt.AsSlices()...)
	var result error
	err := w.raw.Write(func(fd uintptr) bool {
		for {
			_, result = unix.Writev(int(fd), slices)
			if !errors.Is(result, unix.EINTR) {
				return !errors.Is(result, unix.EAGAIN)
			}
		}
	})
	if err == nil && !errors.Is(result, unix.ENOBUFS) && !errors.Is(result, unix.ENETDOWN) { // lost on the way
		err = result
	}
	return err
}

// describe says in the head of a packet where the checksum belongs, which the stack leaves out.
func (w *wire) describe(head []byte, pkt *stack.PacketBuffer) {
	ip := pkt.NetworkHeader().Slice()
	ether, transport := uint16(header.IPv4ProtocolNumber), uint8(0)
	if pkt.NetworkProtocolNumber == header.IPv6ProtocolNumber {
		ether = uint16(header.IPv6ProtocolNumber)
		transport = header.IPv6(ip).NextHeader()
	} else {
		transport = header.IPv4(ip).Protocol()
	}
	if len(head) > vnetSize {
		binary.BigEndian.PutUint16(head[len(head)-2:], ether)
	}
	at := 0
	switch tcpip.TransportProtocolNumber(transport) {
	case header.TCPProtocolNumber:
		at = header.TCPChecksumOffset
	case header.UDPProtocolNumber:
		at = udpChecksum
	default:
		return // its checksum is there
	}
	head[0] = needsCsum
	binary.NativeEndian.PutUint16(head[6:], uint16(len(head)-vnetSize+len(ip)))
	binary.NativeEndian.PutUint16(head[8:], uint16(at))
}

// IsAttached implements stack.LinkEndpoint.
func (w *wire) IsAttached() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.dispatcher != nil
}

// Wait implements stack.LinkEndpoint.
func (w *wire) Wait() { w.reader.Wait() }

// MTU implements stack.LinkEndpoint.
func (w *wire) MTU() uint32 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.mtu
}

// SetMTU implements stack.LinkEndpoint.
func (w *wire) SetMTU(mtu uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mtu = mtu
}

// Capabilities implements stack.LinkEndpoint.
func (*wire) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityRXChecksumOffload | stack.CapabilityTXChecksumOffload
}

// MaxHeaderLength implements stack.LinkEndpoint.
func (*wire) MaxHeaderLength() uint16 { return 0 }

// LinkAddress implements stack.LinkEndpoint.
func (*wire) LinkAddress() tcpip.LinkAddress { return "" }

// SetLinkAddress implements stack.LinkEndpoint.
func (*wire) SetLinkAddress(tcpip.LinkAddress) {}

// ARPHardwareType implements stack.LinkEndpoint.
func (*wire) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareNone }

// AddHeader implements stack.LinkEndpoint.
func (*wire) AddHeader(*stack.PacketBuffer) {}

// ParseHeader implements stack.LinkEndpoint.
func (*wire) ParseHeader(*stack.PacketBuffer) bool { return true }

// Close implements stack.LinkEndpoint.
func (*wire) Close() {}

// SetOnCloseAction implements stack.LinkEndpoint.
func (*wire) SetOnCloseAction(func()) {}
