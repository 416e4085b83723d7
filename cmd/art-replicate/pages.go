package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/replica"
)

// pages reads pages of a copy for who asks on standard input, see control/pages.go, until that is closed.
func pages(url string) error {
	// Its end is that of who asks.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	debug.SetMemoryLimit(memory)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // it has credentials
		return fmt.Errorf("keep others from this process: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	asked := make(chan uint32)
	go func() {
		defer stop()
		defer close(asked)
		for in := bufio.NewReader(os.Stdin); ; {
			var number uint32
			if binary.Read(in, binary.BigEndian, &number) != nil {
				return
			}
			asked <- number
		}
	}()
	p, err := openPages(ctx, url)
	if err != nil {
		return refusePages(err)
	}
	out := bufio.NewWriterSize(os.Stdout, 128<<10)
	var state control.PagesState
	state.PageSize, state.Pages = p.Size()
	answer := func(page []byte) error {
		state.Fetched, state.Requests = p.Fetched()
		if err := control.WriteFrame(out, &state); err != nil {
			return err
		}
		_, err := out.Write(page)
		return errors.Join(err, out.Flush())
	}
	if err := answer(nil); err != nil {
		return told{err}
	}
	for number := range asked {
		page, err := p.Read(ctx, number)
		if err != nil {
			return refusePages(err)
		}
		if err := answer(page); err != nil {
			return told{err} // nobody reads it any more
		}
	}
	return nil
}

func openPages(ctx context.Context, url string) (*replica.Pages, error) {
	if err := confineTo(url, false); err != nil {
		return nil, err
	}
	copied, err := replica.Find(ctx, url)
	if err != nil {
		return nil, err
	}
	return copied.Pages(ctx)
}

// refusePages says why there is no page, which is the end.
func refusePages(err error) error {
	state := control.PagesState{Why: err.Error()}
	var hinted cli.Hinted
	if errors.As(err, &hinted) {
		state.Hint = hinted.Hint()
	}
	_ = control.WriteFrame(os.Stdout, &state)
	return told{err}
}
