package control

import "net/netip"

// Range4 and Range6 are the addresses of a guest that reaches names alone. They are for tests of networks (RFC 2544) and for local
// ones (RFC 4193), so no name of the Internet is at one of them. The guest has one, asks for names at the gateway's, and is told
// the others for names.
var (
	Range4, Range6     = netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("fd61:7274:6e65:7400::/64")
	Gateway4, Gateway6 = netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("fd61:7274:6e65:7400::1")
	Guest4, Guest6     = netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("fd61:7274:6e65:7400::2")
)

// GuestLink is the address of the guest's Ethernet device: of the kind that nobody gives out.
var GuestLink = [6]byte{0x02, 'a', 'r', 't', 'n', 1}

// The descriptors of art-net. It ends when the other side of its standard input is closed, and then writes a NetReport to its
// standard output.
const (
	// TunnelFD is the guest's TUN device, or a packet socket on the other end of its Ethernet device. Packets have a struct
	// virtio_net_hdr before them, and in the latter a header of Ethernet.
	TunnelFD = 3 + iota
	// NetFD is a pipe with Net.
	NetFD
)

// Net is what art-net is to let a guest reach.
type Net struct {
	// Allow and Deny are rules (package netrule).
	Allow, Deny []string
	// Local are those of Allow that may be at addresses of local networks.
	Local []string
	// Public allows all that is public, and Ask has art asked about what no rule allows.
	Public, Ask bool
	// MTU is that of the device.
	MTU uint32
	// Secrets are what it sends in the place of what the guest has, with the authority that says to the guest who it is then.
	Secrets   []NetSecret
	Authority NetAuthority
}

// NetSecret is a secret that the guest does not have.
type NetSecret struct {
	// Name is that of the variable; Value is what is sent in the place of Placeholder, in a header, to some hosts.
	Name, Value, Placeholder string
	Header                   string
	Hosts                    []NetSecretHost
}

// NetSecretHost is where a secret goes.
type NetSecretHost struct {
	Name string
	Port int
	// Methods are those of HTTP with which it goes there, and Paths what paths begin with; nil are all.
	Methods, Paths []string
}

// NetAuthority is that of a session, whose certificates a guest believes.
type NetAuthority struct {
	// Certificate is as in a file (PEM), Key as in PKCS #8.
	Certificate, Key []byte
}

// NetReport is what art-net has denied.
type NetReport struct {
	Denied []Denial
	// More is how many denials are not in it.
	More int
}

// Denial is something that was denied.
type Denial struct {
	// What is a name, as the guest has written it, or an address.
	What string
	// Port is 0 if it was not known yet.
	Port int
	// Why, and how many times.
	Why   string
	Times int
	// Allow is the rule that would allow it, or "" where none would.
	Allow string
}

// The descriptors of art-net as the guest's agent of SSH. It ends as art-net does otherwise.
const (
	// AgentFD is the socket that the guest connects to.
	AgentFD = 3 + iota
	// SSHFD is a pipe with SSH.
	SSHFD
	// OwnAgentFD is a connection to the caller's agent.
	OwnAgentFD
)

// The descriptors of art-net in the guest's network, where it connects the ports that are published: it ends as it does otherwise, and
// writes NetEvents as frames to its standard output.
const (
	// PortsFD is a pipe with Ports.
	PortsFD = 3 + iota
	// FirstPortFD is the first of the sockets of the host, which listen, in the order of Ports.
	FirstPortFD
)

// Ports are those of the guest's that are published.
type Ports struct{ Guest []int }

// MaxPorts is how many ports a session publishes.
const MaxPorts = 64

// PublishedWhat is what an event of a published port is about, in the place of a name.
const PublishedWhat = "guest"

// PortsTold is the answer to AskPorts.
type PortsTold struct{ List []PublishedPort }

// PublishedPort is one of them.
type PublishedPort struct {
	Host, Guest int
	Listens     bool // something does in the guest
	Open, Total int  // connections
}

// SSH is what a guest may have signed.
type SSH struct {
	// AllKeys says that it may use each key of the caller's agent; otherwise Keys are fingerprints or comments of those that it may.
	AllKeys bool
	Keys    []string
	// Known are the keys of the hosts that it may log in to, and Revoked those that no certificate makes one.
	Known   []SSHKnown
	Revoked []string
}

// SSHKnown is a key of a host, as known_hosts has both, or of an authority that signs the host's certificates.
type SSHKnown struct {
	Host, Key string
	Authority bool
}

// SSHHosts are the keys of some hosts.
type SSHHosts struct {
	Known []SSHKnown
	// Revoked are keys that no certificate makes those of a host.
	Revoked []string
	// Unread are lines that could not be read, and More counts others.
	Unread []string
	More   int
}
