package sqlvfs

import (
	"sync"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// conn is a connection with its prepared statements.
type conn = database.Conn

// connPool lends connections for reading content, so that reads run beside one another and beside
// the writer. They are opened when first needed.
type connPool struct {
	open func() (*conn, error)
	sem  chan struct{} // bounds the connections in use

	mu   sync.Mutex
	idle []*conn // GUARDED_BY(mu)
}

func newConnPool(max int, open func() (*conn, error)) *connPool {
	return &connPool{open: open, sem: make(chan struct{}, max)}
}

func (p *connPool) get() (*conn, error) {
	p.sem <- struct{}{}
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	c, err := p.open()
	if err != nil {
		<-p.sem
	}
	return c, err
}

func (p *connPool) put(c *conn) {
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	<-p.sem
}

// close closes idle connections; there must be no others.
func (p *connPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		c.Close()
	}
	p.idle = nil
}
