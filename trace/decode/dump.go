package decode

import (
	"fmt"
	"strings"
)

// Dump says of which descriptors all that is read or written is shown beside the call, as strace's -e read and
// -e write do. Nil is none.
type Dump struct {
	Read, Written func(fd int) bool
}

// A dump has so many bytes in a line, and shows so many of a buffer.
const (
	dumpWidth = 16
	maxDump   = 1 << 20
)

// dumped says where a call that has returned finds what it has read or written: from its second argument on.
var dumped = map[string]struct {
	written bool
	dump    func(p *printer, total uint64)
}{
	"read": {false, dumpResult}, "pread64": {false, dumpResult}, "recvfrom": {false, dumpResult}, "mq_timedreceive": {false, dumpResult},
	"readv": {false, dumpVector}, "preadv": {false, dumpVector}, "preadv2": {false, dumpVector},
	"recvmsg": {false, dumpMessage}, "recvmmsg": {false, dumpMessages},
	"write": {true, dumpBuffer}, "pwrite64": {true, dumpBuffer}, "sendto": {true, dumpBuffer}, "mq_timedsend": {true, dumpBuffer},
	"writev": {true, dumpVector}, "pwritev": {true, dumpVector}, "pwritev2": {true, dumpVector}, "vmsplice": {true, dumpVector},
	"sendmsg": {true, dumpMessage}, "sendmmsg": {true, dumpMessages},
}

// AppendDump appends the lines of the dump of a call that has returned, if one is asked for. A call that has failed has read
// nothing, but may have had something to write.
func AppendDump(dst []byte, c *Call, which *Dump) []byte {
	d, known := dumped[c.Name]
	if which == nil || !known || c.Failed && (!d.written || c.Name == "sendmmsg") || c.Foreign() {
		return dst
	}
	wanted, total := which.Read, uint64(c.Ret)
	if d.written {
		wanted, total = which.Written, unlimited
	}
	if wanted == nil || !wanted(int(int32(c.Args[0]))) {
		return dst
	}
	p := c.print(dst)
	d.dump(p, total)
	return p.buf
}

// total is how much of the buffers is shown: of those that were filled, what was.
func dumpResult(p *printer, total uint64)  { p.dump(p.call.Args[1], total) }
func dumpBuffer(p *printer, _ uint64)      { p.dump(p.call.Args[1], p.call.Args[2]) }
func dumpMessage(p *printer, total uint64) { p.dumpMessage(p.call.Args[1], total) }
func dumpVector(p *printer, total uint64)  { p.dumpVector(p.call.Args[1], p.call.Args[2], total) }

func dumpMessages(p *printer, _ uint64) {
	for i := range min(uint64(p.call.Ret), maxMessages) {
		at := p.call.Args[1] + i*mmsghdrSize
		b := p.peek(at, mmsghdrSize)
		if b == nil {
			return
		}
		p.buf = fmt.Appendf(p.buf, " = %d buffers in vector %d\n", u64(b, msgIovlen), i)
		p.dumpMessage(at, uint64(u32(b, msghdrSize)))
	}
}

func (p *printer) dumpMessage(at, total uint64) {
	if b := p.peek(at, msghdrSize); b != nil {
		p.dumpVector(u64(b, msgIov), u64(b, msgIovlen), total)
	}
}

// dumpVector shows the buffers of an array of struct iovec, all of which is readable, and at most total bytes of them.
func (p *printer) dumpVector(at, n, total uint64) {
	n = min(n, 1024) // UIO_MAXIOV
	all := p.peek(at, int(16*n))
	for i := range len(all) / 16 {
		b := all[16*i:]
		shown := min(u64(b, 8), total)
		total -= shown
		if shown > 0 {
			p.buf = fmt.Appendf(p.buf, " * %d bytes in buffer %d\n", shown, i)
			p.dump(u64(b, 0), shown)
		}
	}
}

// dump shows n bytes, in hexadecimal and as text.
func (p *printer) dump(at, n uint64) {
	b := p.peek(at, int(min(n, maxDump)))
	for i := 0; i < len(b); i += dumpWidth {
		var hex strings.Builder
		text := make([]byte, 0, dumpWidth)
		for j, c := range b[i:min(i+dumpWidth, len(b))] {
			if j == dumpWidth/2 {
				hex.WriteByte(' ')
			}
			fmt.Fprintf(&hex, "%02x ", c)
			if c < ' ' || c > '~' {
				c = '.'
			}
			text = append(text, c)
		}
		p.buf = fmt.Appendf(p.buf, " | %05x  %-*s %-*s |\n", i, 3*dumpWidth+1, hex.String(), dumpWidth, text)
	}
	if b != nil && n > maxDump {
		p.buf = fmt.Appendf(p.buf, " | and %d bytes more\n", n-maxDump)
	}
}
