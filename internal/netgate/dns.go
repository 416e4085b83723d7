package netgate

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/riverlytech/art/internal/netrule"
)

// How long an answer may be remembered; a name keeps its address for the whole session.
const ttl = 300

// A connection for questions is closed when none has come for as long.
const dnsIdle = 10 * time.Second

// answer returns the answer to a question about names, or nil if it is none. No question ever leaves: what is not allowed does
// not exist, and of what is allowed there is nothing but addresses.
func (g *Gate) answer(who peers, query []byte) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil || header.Response {
		return nil
	}
	reply := dnsmessage.Header{
		ID: header.ID, Response: true, OpCode: header.OpCode, RecursionDesired: header.RecursionDesired, RecursionAvailable: true,
	}
	question, err := p.Question()
	var answers []dnsmessage.Resource
	switch _, more := p.Question(); {
	case header.OpCode != 0:
		reply.RCode = dnsmessage.RCodeNotImplemented
	case err != nil || !errors.Is(more, dnsmessage.ErrSectionDone):
		reply.RCode = dnsmessage.RCodeFormatError
	case question.Class != dnsmessage.ClassINET:
		reply.RCode = dnsmessage.RCodeRefused
	default:
		answers, reply.RCode = g.lookup(who, &question)
	}
	m := dnsmessage.Message{Header: reply, Answers: answers}
	if err == nil {
		m.Questions = []dnsmessage.Question{question}
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// lookup answers one question.
func (g *Gate) lookup(who peers, q *dnsmessage.Question) ([]dnsmessage.Resource, dnsmessage.RCode) {
	asked := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	name, err := netrule.Canonical(asked)
	if err != nil || name != asked || !g.knowsName(name) {
		if !strings.HasSuffix(asked, ".arpa") { // the names of addresses, of which there are none
			g.deny(who, denial{what: asked, why: "no rule allows it", allow: g.allowing(name, 0)})
		}
		return nil, dnsmessage.RCodeNameError
	}
	if q.Type != dnsmessage.TypeA && q.Type != dnsmessage.TypeAAAA {
		return nil, dnsmessage.RCodeSuccess
	}
	v4, v6, err := g.names.addresses(name)
	if err != nil {
		g.deny(who, denial{what: name, why: err.Error()})
		return nil, dnsmessage.RCodeServerFailure
	}
	r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: ttl}}
	if r.Body = (&dnsmessage.AResource{A: v4.As4()}); q.Type == dnsmessage.TypeAAAA {
		r.Body = &dnsmessage.AAAAResource{AAAA: v6.As16()}
	}
	return []dnsmessage.Resource{r}, dnsmessage.RCodeSuccess
}

// answerPackets answers questions that come one in a packet.
func (g *Gate) answerPackets(conn net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := g.answer(peersOf(from, conn.LocalAddr()), buf[:n]); reply != nil {
			_, _ = conn.WriteTo(reply, from) // who is not there any more does not wait
		}
	}
}

// answerStreams answers questions over connections.
func (g *Gate) answerStreams(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		select {
		case g.dns <- struct{}{}:
			go func() {
				defer func() { <-g.dns }()
				g.answerStream(conn)
			}()
		default:
			conn.Close()
		}
	}
}

func (g *Gate) answerStream(conn net.Conn) {
	defer conn.Close()
	for {
		_ = conn.SetDeadline(time.Now().Add(dnsIdle))
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		reply := g.answer(peersOf(conn.RemoteAddr(), conn.LocalAddr()), query)
		if reply == nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}
