package decode

import (
	"time"

	"golang.org/x/sys/unix"
)

// pair prints two longs as a struct of two members, seconds and their fraction.
func (p *printer) pair(b []byte, first, second string) {
	p.str("{" + first + "=")
	p.dec(int64(u64(b, 0)))
	p.str(", " + second + "=")
	p.udec(u64(b, 8))
	p.str("}")
}

func (p *printer) timespec(b []byte) { p.pair(b, "tv_sec", "tv_nsec") }
func (p *printer) timeval(b []byte)  { p.pair(b, "tv_sec", "tv_usec") }

func printTimespec(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 16); b != nil {
		p.timespec(b)
	}
	return true
}

// printTimespecRest prints the time that was left when a sleep was interrupted;
// otherwise the kernel does not write it.
func printTimespecRest(p *printer, a *argument, v uint64) bool {
	if errno := p.call.errno(); errno != unix.EINTR && errno != errRestartBlock {
		p.addr(v)
		return true
	}
	if b := p.read(&argument{}, v, 16); b != nil {
		p.timespec(b)
	}
	return true
}

func printTimeval(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 16); b != nil {
		p.timeval(b)
	}
	return true
}

// printTimevals prints times that files get, with the dates that they are.
func printTimevals(p *printer, a *argument, v uint64) bool {
	p.array(v, a.number, 16, func(b []byte) {
		p.timeval(b)
		p.dateMicro(int64(u64(b, 0)), u64(b, 8))
	})
	return true
}

// dateMicro adds the point in time in words, for one with microseconds.
func (p *printer) dateMicro(sec int64, usec uint64) {
	format := "2006-01-02T15:04:05.000000-0700"
	switch {
	case sec == 0 && usec == 0 || usec >= 1e6:
		return
	case usec == 0:
		format = "2006-01-02T15:04:05-0700"
	}
	p.stamp(time.Unix(sec, int64(usec)*1000), format)
}

// stamp adds a date, if there are such years.
func (p *printer) stamp(t time.Time, format string) {
	if year := t.Year(); year < -9999 || year > 9999 {
		return
	}
	p.str(" /* ")
	p.buf = t.AppendFormat(p.buf, format)
	p.str(" */")
}

// date adds the point in time in words.
func (p *printer) date(sec, nsec int64) {
	format := "2006-01-02T15:04:05.000000000-0700"
	switch {
	case sec == 0 && nsec == 0 || nsec < 0 || nsec >= 1e9:
		return
	case nsec == 0:
		format = "2006-01-02T15:04:05-0700"
	}
	p.stamp(time.Unix(sec, nsec), format)
}

// printTime prints what time(2) has stored.
func printTime(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 8); b != nil {
		p.str("[")
		asSeconds(p, b)
		p.str("]")
	}
	return true
}

// printUtimens prints the two times of utimensat, whose nanoseconds may be a
// command instead.
func printUtimens(p *printer, a *argument, v uint64) bool {
	p.array(v, 2, 16, func(b []byte) {
		switch u64(b, 8) {
		case unix.UTIME_NOW:
			p.str("UTIME_NOW")
		case unix.UTIME_OMIT:
			p.str("UTIME_OMIT")
		default:
			p.timespec(b)
			p.date(int64(u64(b, 0)), int64(u64(b, 8)))
		}
	})
	return true
}

func (p *printer) interval(b []byte, one func([]byte)) {
	p.str("{it_interval=")
	one(b)
	p.str(", it_value=")
	one(b[16:])
	p.str("}")
}

func printItimerspec(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 32); b != nil {
		p.interval(b, p.timespec)
	}
	return true
}

func printItimerval(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 32); b != nil {
		p.interval(b, p.timeval)
	}
	return true
}
