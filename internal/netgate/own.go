package netgate

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownAddresses returns the addresses that the host's interfaces have now. What listens there is the host's, however public they are.
func ownAddresses() ([]netip.Addr, error) {
	table, err := syscall.NetlinkRIB(unix.RTM_GETADDR, unix.AF_UNSPEC)
	var messages []syscall.NetlinkMessage
	if err == nil {
		messages, err = syscall.ParseNetlinkMessage(table)
	}
	if err != nil {
		return nil, fmt.Errorf("list the host's addresses: %w", err)
	}
	var own []netip.Addr
	for i := range messages {
		if messages[i].Header.Type != unix.RTM_NEWADDR {
			continue
		}
		attributes, err := syscall.ParseNetlinkRouteAttr(&messages[i])
		if err != nil {
			return nil, fmt.Errorf("list the host's addresses: %w", err)
		}
		for _, a := range attributes {
			// Of an interface to one other host IFA_ADDRESS is that one's, and IFA_LOCAL is there too; IPv6 has mostly the first alone.
			if a.Attr.Type != unix.IFA_LOCAL && (a.Attr.Type != unix.IFA_ADDRESS || slices.ContainsFunc(attributes, isLocal)) {
				continue
			}
			if address, ok := netip.AddrFromSlice(a.Value); ok {
				own = append(own, address.Unmap())
			}
		}
	}
	return own, nil
}

func isLocal(a syscall.NetlinkRouteAttr) bool { return a.Attr.Type == unix.IFA_LOCAL }

// isOwn says whether an address is one of the host's own, or nobody knows.
func (g *Gate) isOwn(a netip.Addr) bool {
	own, err := g.own()
	return err != nil || slices.Contains(own, a.Unmap())
}
