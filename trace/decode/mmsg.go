package decode

// mmsghdrSize is the size of struct mmsghdr: a struct msghdr and the length that was sent or received.
const mmsghdrSize = 64

// maxMessages is how many messages the kernel takes (UIO_MAXIOV).
const maxMessages = 1024

// printMmsg prints the messages of sendmmsg and recvmmsg: of those that went through, also how long they were.
func printMmsg(p *printer, a *argument, v uint64) bool {
	n := uint64(uint32(p.call.Args[a.number]))
	received := p.call.Name == "recvmmsg"
	if p.call.Failed && received {
		p.addr(v)
		return true
	}
	done := 0
	if !p.call.Failed {
		done = int(p.call.Ret)
	}
	if received {
		n = uint64(done)
	}
	index := 0
	p.listUpTo(&argument{}, v, n, maxMessages, mmsghdrSize, func(b []byte) {
		p.str("{msg_hdr=")
		total := uint64(unlimited)
		if received {
			total = uint64(u32(b, msghdrSize))
			p.call.length = 0
			if last := len(p.call.lengths) - 1; last >= 0 { // else nobody has looked before the call
				p.call.length = p.call.lengths[min(index, last)]
			}
		}
		p.msghdr(b, total, received)
		if index < done {
			p.str(", msg_len=")
			p.udec(uint64(u32(b, msghdrSize)))
		}
		p.str("}")
		index++
	})
	return true
}

// noteMmsg remembers the room for each address of recvmmsg, which the kernel replaces, and how long it may
// take.
func noteMmsg(c *Call, v uint64) {
	c.lengths = c.lengths[:0]
	n := min(uint64(uint32(c.Args[2])), maxMessages)
	for i := range n {
		c.length = 0
		noteLength(msgNamelen)(c, v+i*mmsghdrSize)
		c.lengths = append(c.lengths, c.length)
	}
	if n == 0 {
		c.lengths = append(c.lengths, 0)
	}
}

// noteBytes remembers what v points to: a time-out or a position, which the kernel changes.
func noteBytes(c *Call, v uint64) {
	c.noted = c.noted[:0]
	b := make([]byte, 16)
	if v != 0 {
		if n := c.Mem.Read(v, b); n >= 8 {
			c.noted = append(c.noted, b[:n]...)
		}
	}
}

// printTimespecBefore prints a time-out as it was at the entry.
func printTimespecBefore(p *printer, _ *argument, v uint64) bool {
	if len(p.call.noted) < 16 {
		p.addr(v)
	} else {
		p.timespec(p.call.noted)
	}
	return true
}

// printOffset prints a position in a file, and what the call has made of it.
func printOffset(p *printer, _ *argument, v uint64) bool {
	now := p.peek(v, 8)
	if len(p.call.noted) < 8 || now == nil {
		p.addr(v)
		return true
	}
	was := u64(p.call.noted, 0)
	p.str("[")
	p.udec(was)
	if is := u64(now, 0); is != was {
		p.str("] => [")
		p.udec(is)
	}
	p.str("]")
	return true
}

// mmsgResult prints how many messages there were and, of those received, the time that is left.
func mmsgResult(p *printer, v int64) {
	p.dec(v)
	if p.call.Name != "recvmmsg" || p.call.Args[4] == 0 || v <= 0 {
		if v == 0 {
			p.str(" (Timeout)")
		}
		return
	}
	if b := p.peek(p.call.Args[4], 16); b != nil {
		p.str(" (left ")
		p.timespec(b)
		p.str(")")
	}
}
