// Package remote reads copies of databases where they are, page by page. art-replicate fetches the pages: this package knows nothing of stores.
package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/replica/place"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

// Copy is one that is read. Until it is closed, its URL is the path of a database that [sqlvfs.Open] opens for reading.
type Copy struct {
	url    string
	forget func()
	cmd    *exec.Cmd
	asks   io.WriteCloser
	says   io.ReadCloser

	mu      sync.Mutex
	state   control.PagesState // GUARDED_BY(mu)
	failure error              // why pages could not be read. GUARDED_BY(mu)
}

// Open has what only reads read the copy at a place by its URL, until end is called, where database is that and no path. On a terminal, end says how
// much was read; and where pages could not be, it puts why in the place of what SQLite made of that.
func Open(prog, database string) (end func(*error), err error) {
	if !place.IsURL(database) {
		return func(*error) {}, nil
	}
	c, err := open(database)
	if err != nil {
		return nil, err
	}
	return func(err *error) {
		c.Close()
		*err = c.explain(*err)
		if term.IsTerminal(int(os.Stderr.Fd())) {
			fmt.Fprintf(os.Stderr, "%s: %s\n", prog, c.fetched())
		}
	}, nil
}

func open(url string) (*Copy, error) {
	if _, err := place.Parse(url); err != nil {
		return nil, err
	}
	c := &Copy{url: url}
	err := c.start()
	if err == nil {
		if c.forget, err = sqlvfs.Remote(url, c); err == nil {
			return c, nil
		}
		c.Close()
	}
	return nil, fmt.Errorf("read the copy at %s: %w", url, err)
}

// start starts art-replicate, and waits until it knows where pages are.
func (c *Copy) start() (err error) {
	if c.cmd, err = libexec.Command("art-replicate", "pages", c.url); err != nil {
		return err
	}
	if c.asks, err = c.cmd.StdinPipe(); err == nil {
		c.says, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start art-replicate: %w", cli.Reason(err))
	}
	if err = c.hear(); err == nil {
		if s := &c.state; s.PageSize < 512 || s.PageSize > 64<<10 || s.PageSize&(s.PageSize-1) != 0 || s.Pages == 0 {
			err = errors.New("art-replicate says what makes no sense")
		}
	}
	if err != nil {
		c.Close()
	}
	return err
}

// hear reads what comes before a page. mu is held, or nobody else has the copy yet.
func (c *Copy) hear() error {
	var state control.PagesState
	frame, err := control.ReadFrame(c.says)
	if err == nil {
		err = control.Unmarshal(frame, &state)
	}
	switch {
	case err != nil:
		return ended(err)
	case state.Why != "":
		return cli.WithHint(errors.New(state.Why), state.Hint)
	case c.state.Pages != 0 && (state.Pages != c.state.Pages || state.PageSize != c.state.PageSize):
		return errors.New("art-replicate says what makes no sense")
	}
	c.state = state
	return nil
}

func ended(err error) error { return fmt.Errorf("art-replicate has ended: %w", err) }

// Size is that of the database, in bytes.
func (c *Copy) Size() (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size(), nil
}

func (c *Copy) size() int64 { return int64(c.state.PageSize) * int64(c.state.Pages) }

// ReadAt reads from the database.
func (c *Copy) ReadAt(data []byte, off int64) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	page := make([]byte, c.state.PageSize)
	for n < len(data) {
		at := off + int64(n)
		if at < 0 || at >= c.size() {
			return n, io.EOF
		}
		if err := c.read(page, uint32(at/int64(len(page)))+1); err != nil {
			return n, err
		}
		n += copy(data[n:], page[at%int64(len(page)):])
	}
	return n, nil
}

// read reads a page. What has failed stays so. mu is held.
func (c *Copy) read(page []byte, number uint32) error {
	if c.failure != nil {
		return c.failure
	}
	_, err := c.asks.Write(binary.BigEndian.AppendUint32(nil, number))
	if herr := c.hear(); err == nil || herr != nil {
		err = herr // which says more than that nobody takes the question
	}
	if err == nil {
		if _, err = io.ReadFull(c.says, page); err != nil {
			err = ended(err)
		}
	}
	c.failure = err
	return err
}

// explain returns why pages could not be read, if they could not, instead of what came of that.
func (c *Copy) explain(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil || c.failure == nil {
		return err
	}
	return fmt.Errorf("read the copy at %s: %w", c.url, c.failure)
}

// fetched says how much has come from the place until now, of how much.
func (c *Copy) fetched() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%s of %s fetched, in %d requests", cli.Bytes(int64(c.state.Fetched)), cli.Bytes(c.size()), c.state.Requests)
}

// Close ends the reading. No store of it is open any more.
func (c *Copy) Close() {
	if c.forget != nil {
		c.forget()
	}
	c.asks.Close()
	c.says.Close()
	_ = c.cmd.Wait() // it has said what there was to say
}
