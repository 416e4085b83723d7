package sandbox

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netledger"
	sessions "github.com/riverlytech/art/internal/session"
)

// What the guest does on a network by name goes from art-net to art, which finds out whose it is, and from there to art-fuse, which keeps
// it.

// useSockets takes what tells of the sockets of the guest's network.
func (n *network) useSockets(fd int) {
	n.endOwners()
	n.owners = netledger.NewOwners(os.Getpid(), fd)
}

// beginLedger begins to take what art-net tells. orders is where it hears art.
func (s *session) beginLedger(orders *os.File) error {
	n := &s.network
	if n.owners == nil {
		n.owners = netledger.NewOwners(os.Getpid(), -1)
	}
	var mu sync.Mutex // of orders
	order := func(o *control.NetOrders) error {
		mu.Lock()
		defer mu.Unlock()
		return control.WriteFrame(orders, o)
	}
	noted := func(number uint64) { _ = order(&control.NetOrders{Noted: number}) } // who has ended need not know
	var save func([]control.Flow) error
	if s.control != nil {
		kept, err := duplicate(s.control)
		if err != nil {
			return err
		}
		n.kept = kept
		save = func(list []control.Flow) error {
			return control.Send(kept, -1, control.Message{Kind: control.Flows, List: list})
		}
	}
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	n.ledger = netledger.New(n.owners.Find, noted, save)
	n.ledger.OnDenied(s.nameDenied)
	n.ledger.OnOwner(func(pid int) (int64, int) {
		if learner := s.calls.learner.Load(); learner != nil {
			return learner.Command(pid)
		}
		return 0, 0
	})
	s.registry.ledger = n.ledger
	if s.net == nil { // only ports are published
		return nil
	}
	return s.beginGrants(n.ledger, order)
}

// endLedger has all kept that there was. art-net has ended.
func (n *network) endLedger() {
	if n.ledger == nil {
		return
	}
	n.report = n.ledger.End()
	n.used = n.ledger.Used()
	n.ledger = nil
	n.endOwners()
	if n.kept != nil {
		n.kept.Close()
		n.kept = nil
	}
}

func (n *network) endOwners() {
	if n.owners != nil {
		n.owners.Close()
		n.owners = nil
	}
}

// answerFlows tells what the guest does on the network.
func (s *session) answerFlows(c *sessions.Conn, ask *control.Ask) error {
	var what control.FlowsAsk
	if err := control.Unmarshal(ask.Body, &what); err != nil {
		return err
	}
	s.registry.mu.Lock()
	ledger := s.registry.ledger
	s.registry.mu.Unlock()
	if ledger == nil {
		return cli.WithHint(errors.New("this session has no network by name, of which alone something is known"), "see art run --help, --network")
	}
	if err := c.Answer(nil); err != nil {
		return err
	}
	now, later, stop := ledger.Follow()
	defer stop()
	for len(now) > 0 {
		n := min(len(now), control.MaxFlowsTold)
		if err := c.Send(&control.FlowsTold{List: now[:n]}); err != nil {
			return nil //nolint:nilerr // who has gone need not know
		}
		now = now[n:]
	}
	if !what.Follow {
		return nil
	}
	gone := make(chan struct{})
	go func() {
		_, _ = c.Receive() // it says no more, until it goes
		close(gone)
	}()
	for {
		select {
		case list, ok := <-later:
			if !ok || errors.Is(c.Send(&control.FlowsTold{List: list}), unix.EPIPE) {
				return nil
			}
		case <-gone:
			return nil
		}
	}
}
