package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"
)

// model is a store in memory. Each request to it takes a while, and may be lost, or come twice; so may the answer.
type model struct {
	random  *rand.Rand
	mu      sync.Mutex
	objects map[string][]byte
	tags    map[string]int
	tag     int
}

func newModel(seed uint64) *model {
	return &model{random: rand.New(rand.NewPCG(seed, 1)), objects: map[string][]byte{}, tags: map[string]int{}}
}

func (m *model) chance(percent int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.random.IntN(100) < percent
}

// delay is how long a message is under way: mostly short, sometimes for longer than a lease.
func (m *model) delay() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.random.IntN(20) == 0 {
		return time.Duration(m.random.Int64N(int64(3 * leaseTime)))
	}
	return time.Duration(m.random.Int64N(int64(200 * time.Millisecond)))
}

var errNetwork = errors.New("the network is at fault")

// request is one over the network of a model. What it does may happen after its caller has been told of an error, and more than once.
func (m *model) request(ctx context.Context, do func() error) error {
	answer := make(chan error, 2)
	times := 1
	if m.chance(5) {
		times = 0
	} else if m.chance(10) {
		times = 2
	}
	for range times {
		go func() {
			time.Sleep(m.delay())
			m.mu.Lock()
			err := do()
			m.mu.Unlock()
			if m.chance(5) {
				return
			}
			time.Sleep(m.delay())
			answer <- err
		}()
	}
	patience := time.NewTimer(5 * time.Second)
	defer patience.Stop()
	select {
	case err := <-answer:
		return err
	case <-patience.C:
		return errNetwork
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *model) get(ctx context.Context, name string) (data []byte, tag string, err error) {
	type got struct {
		data []byte
		tag  string
	}
	found := make(chan got, 2)
	err = m.request(ctx, func() error {
		if m.objects[name] == nil {
			return fs.ErrNotExist
		}
		found <- got{m.objects[name], strconv.Itoa(m.tags[name])}
		return nil
	})
	if err == nil {
		g := <-found
		data, tag = g.data, g.tag
	}
	return data, tag, err
}

func (m *model) swap(ctx context.Context, name string, data []byte, tag string) (string, error) {
	next := make(chan string, 2)
	err := m.request(ctx, func() error {
		there := ""
		if m.objects[name] != nil {
			there = strconv.Itoa(m.tags[name])
		}
		if there != tag {
			return fs.ErrExist
		}
		m.tag++
		m.objects[name], m.tags[name] = data, m.tag
		next <- strconv.Itoa(m.tag)
		return nil
	})
	if err != nil {
		return "", err
	}
	return <-next, nil // and not in tag, which a request that is late still reads
}

func (m *model) entries(context.Context) (dirs, files []string, err error) {
	return nil, nil, errors.ErrUnsupported
}
func (m *model) below(dir string) objects { return &modelDirectory{m, dir} }

// modelDirectory are the objects of a directory of a model.
type modelDirectory struct {
	*model
	dir string
}

func (d *modelDirectory) entries(ctx context.Context) (dirs, files []string, err error) {
	found := make(chan []string, 2)
	err = d.request(ctx, func() error {
		var below []string
		for name := range d.objects {
			if rest, ok := strings.CutPrefix(name, strings.TrimPrefix(d.dir+"/", "/")); ok {
				if dir, _, ok := strings.Cut(rest, "/"); ok {
					below = append(below, dir)
				}
			}
		}
		found <- below
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return <-found, nil, nil
}

func (m *model) store() *store {
	return &store{m, func(dir string) (litestream.ReplicaClient, error) { return &modelClient{m, dir}, nil }}
}

// modelClient is Litestream's way to a model.
type modelClient struct {
	m   *model
	dir string
}

func (c *modelClient) path(level int, from, to ltx.TXID) string {
	return fmt.Sprintf("%s/%d/%s", c.dir, level, ltx.FormatFilename(from, to))
}

func (c *modelClient) Type() string                    { return "model" }
func (c *modelClient) Init(context.Context) error      { return nil }
func (c *modelClient) DeleteAll(context.Context) error { return errors.ErrUnsupported }
func (c *modelClient) SetLogger(*slog.Logger)          {}
func (c *modelClient) DeleteLTXFiles(context.Context, []*ltx.FileInfo) error {
	return errors.ErrUnsupported
}

func (c *modelClient) LTXFiles(ctx context.Context, level int, _ ltx.TXID, _ bool) (ltx.FileIterator, error) {
	found := make(chan []*ltx.FileInfo, 2)
	err := c.m.request(ctx, func() error {
		var all []*ltx.FileInfo
		for name := range c.m.objects {
			if name, ok := strings.CutPrefix(name, fmt.Sprintf("%s/%d/", c.dir, level)); ok {
				from, to, err := ltx.ParseFilename(name)
				if err != nil {
					return err
				}
				all = append(all, &ltx.FileInfo{Level: level, MinTXID: from, MaxTXID: to})
			}
		}
		found <- all
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ltx.NewFileInfoSliceIterator(<-found), nil
}

func (c *modelClient) OpenLTXFile(ctx context.Context, level int, from, to ltx.TXID, _, _ int64) (io.ReadCloser, error) {
	found := make(chan []byte, 2)
	err := c.m.request(ctx, func() error {
		data := c.m.objects[c.path(level, from, to)]
		if data == nil {
			return os.ErrNotExist
		}
		found <- data
		return nil
	})
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(<-found)), nil
}

func (c *modelClient) WriteLTXFile(ctx context.Context, level int, from, to ltx.TXID, r io.Reader) (*ltx.FileInfo, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return &ltx.FileInfo{}, c.m.request(ctx, func() error {
		c.m.objects[c.path(level, from, to)] = data
		return nil
	})
}

// machine is one that writes a database: a history of words, which begins with what it has brought back, or has from its own last session.
type machine struct {
	m         *model
	name      string
	random    *rand.Rand
	history   []string
	continues map[string]string
	sessions  int
	// counts is called with each history of which the machine is told that it is copied.
	counts func(who string, history []string)
}

// bring brings the newest history back, as [Copy.bring] does.
func (w *machine) bring(ctx context.Context) bool {
	head, _, err := readHead(ctx, w.m)
	if err != nil || head == nil {
		return false
	}
	for _, g := range slices.Backward(head.Generations) {
		c := &modelClient{w.m, g.dir()}
		files, err := c.LTXFiles(ctx, 0, 0, false)
		if err != nil {
			return false
		}
		last := ltx.TXID(0)
		for next := true; next; { // without a gap, as [litestream.CalcRestorePlan]
			next = files.Next()
			if next && files.Item().MaxTXID == last+1 {
				last++
			}
		}
		if last == 0 {
			continue
		}
		var history []string
		for n := range last {
			r, err := c.OpenLTXFile(ctx, 0, n+1, n+1, 0, 0)
			if err != nil {
				return false
			}
			data, _ := io.ReadAll(r)
			history = append(history, strings.Fields(string(data))...)
		}
		w.history, w.continues = history, map[string]string{head.Place: position(g.ID, last)}
		return true
	}
	return false
}

// session is one of the machine's: it gets the place or does not, writes for a while, and ends in order or is killed.
func (w *machine) session(ctx context.Context) {
	w.sessions++
	token := fmt.Sprint(w.name, "-", w.sessions)
	who := claimant{mine: &Head{Format: headFormat, ID: "a", Place: "p"}, continues: w.continues, lease: Lease{Token: token}, takeOver: w.random.IntN(2) == 0}
	var t *tenure
	for range 8 {
		attempt, cancel := context.WithTimeout(ctx, claimTime)
		var err error
		t, err = who.claim(attempt, w.m.store())
		cancel()
		if errors.As(err, new(*refused)) && strings.Contains(err.Error(), "goes on from another state") && w.random.IntN(2) == 0 {
			_ = w.bring(ctx) // for the next session
			return
		}
		if err == nil || errors.As(err, new(*refused)) {
			break
		}
		time.Sleep(retryMost)
	}
	if t == nil {
		return
	}
	w.continues = map[string]string{t.head.Place: t.generation.ID}
	life, kill := context.WithCancel(ctx)
	var holding sync.WaitGroup
	holding.Go(func() { t.hold(life, func(*Head) {}) })
	defer holding.Wait()
	defer kill()
	client := &fenced{&modelClient{w.m, t.generation.dir()}, t, &taken{}}
	copied, number := 0, ltx.TXID(1) // of the history, and the file to come
	for range 1 + w.random.IntN(12) {
		w.history = append(w.history, fmt.Sprint(token, "-", len(w.history)))
		part := w.history[copied:]
		for range 3 {
			_, err := client.WriteLTXFile(life, 0, number, number, strings.NewReader(strings.Join(part, " ")))
			if err == nil && t.confirm(life) == nil {
				copied, number = len(w.history), number+1
				w.counts(token, slices.Clone(w.history))
				break
			}
			// As Litestream does, the same file is written again.
			time.Sleep(time.Second)
		}
		if copied < len(w.history) {
			break // killed
		}
		switch w.random.IntN(10) {
		case 0:
			time.Sleep(time.Duration(w.random.Int64N(int64(2 * leaseTime)))) // it stands still
		case 1, 2, 3:
			time.Sleep(time.Duration(w.random.Int64N(int64(leaseRenewed)))) // nothing is written
		}
	}
	if copied == len(w.history) && w.random.IntN(2) == 0 {
		_ = t.end(life, func(*Head) {})
	}
}

// Of the histories of which any machine was told that they are copied, each goes on from those before it, and what is brought back at the end goes
// on from all: whatever the network delays, loses and repeats.
func TestOneHistory(t *testing.T) {
	counted, brought, sessions := 0, 0, 0
	trials := uint64(1000)
	if testing.Short() {
		trials = 100
	}
	for seed := range trials {
		synctest.Test(t, func(t *testing.T) {
			m := newModel(seed)
			var mu sync.Mutex
			var longest []string
			by := ""
			counts := func(who string, history []string) {
				mu.Lock()
				defer mu.Unlock()
				counted++
				n := min(len(longest), len(history))
				if !slices.Equal(longest[:n], history[:n]) {
					t.Errorf("seed %d: %s and %s both count:\n%q\n%q", seed, by, who, longest, history)
				}
				if len(history) >= len(longest) {
					longest, by = history, who
				} else {
					t.Errorf("seed %d: %s has lost what counts for %s:\n%q\n%q", seed, who, by, longest, history)
				}
			}
			var all sync.WaitGroup
			machines := make([]*machine, 3)
			for i := range machines {
				w := &machine{m: m, name: string(rune('a' + i)), random: rand.New(rand.NewPCG(seed, uint64(i)+2)), counts: counts}
				machines[i] = w
				all.Go(func() {
					for range 6 {
						if w.random.IntN(4) > 0 {
							w.bring(t.Context())
						}
						w.session(t.Context())
						time.Sleep(time.Duration(w.random.Int64N(int64(leaseTime))))
					}
				})
			}
			all.Wait()
			time.Sleep(10 * leaseTime) // what is late arrives
			for range 10000 {          // of many requests one is lost mostly
				if machines[0].bring(t.Context()) {
					break
				}
			}
			if got := machines[0].history; len(got) < len(longest) || !slices.Equal(longest, got[:len(longest)]) {
				t.Fatalf("seed %d: what counts is not brought back:\n%q\n%q", seed, longest, got)
			}
			time.Sleep(10 * leaseTime)
			brought += len(longest)
			sessions += machines[0].sessions + machines[1].sessions + machines[2].sessions
		})
	}
	t.Logf("%d sessions were told %d times that a history is copied; %d parts were brought back", sessions, counted, brought)
	if counted < 10*int(trials) {
		t.Errorf("only %d times something counted", counted)
	}
}

// Of two processes that know the same of their right to write a place, as in a machine that was cloned while it ran, one has it.
func TestClonedHolder(t *testing.T) {
	s, err := open(t.Context(), "file://"+t.TempDir())
	must(t, err)
	who := claimant{mine: &Head{Format: headFormat, ID: "a", Place: "p"}, lease: Lease{Token: "a"}}
	first, err := who.claim(t.Context(), s)
	must(t, err)
	clone := func() *tenure {
		return &tenure{
			store: s, generation: first.generation, lease: first.lease, gone: make(chan struct{}), asking: make(chan struct{}, 1),
			head: first.head, tag: first.tag, until: first.until,
		}
	}
	second, third := clone(), clone()
	must(t, first.renew(t.Context(), func(*Head) {}))
	must(t, first.confirm(t.Context()))
	if err := second.confirm(t.Context()); !errors.As(err, new(*refused)) {
		t.Errorf("both count: %v", err)
	}
	if err := third.renew(t.Context(), func(*Head) {}); !errors.As(err, new(*refused)) {
		t.Errorf("both renew: %v", err)
	}
	must(t, first.end(t.Context(), func(*Head) {}))
}

// hooked calls before once, when an object is swapped.
type hooked struct {
	objects
	before func()
}

func (o *hooked) swap(ctx context.Context, name string, data []byte, tag string) (string, error) {
	if f := o.before; f != nil {
		o.before = nil
		f()
	}
	return o.objects.swap(ctx, name, data, tag)
}

// Who is refused after the swap, since what counts has come between, leaves nothing behind that passes for the newest state.
func TestRefusedAfterTheSwap(t *testing.T) {
	dir := t.TempDir()
	s, err := open(t.Context(), "file://"+dir)
	must(t, err)
	file := func(g Generation, from, to ltx.TXID) {
		path := litestream.LTXFilePath(dir+"/"+g.dir(), 0, from, to)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, ltxFile(t, 1), 0o600))
	}
	claim := func(token string, continues string, pages *noted) (*tenure, error) {
		who := claimant{
			mine: &Head{Format: headFormat, ID: "a", Place: "p"}, lease: Lease{Token: token}, takeOver: true, continues: map[string]string{"p": continues}, pages: pages,
		}
		return who.claim(t.Context(), s)
	}
	first, err := claim("first", "", nil)
	must(t, err)
	file(first.generation, 1, 1)
	must(t, first.end(t.Context(), func(*Head) {}))
	pages := &noted{Place: "p", Generation: first.generation.ID, TXID: ltx.TXID(1).String(), PageSize: 4096, Pages: 1}
	second, err := claim("second", first.generation.ID, pages)
	must(t, err)
	if second.generation.Base == "" {
		t.Fatal("the second does not go on from the first")
	}
	s.own = &hooked{s.own, func() {
		file(second.generation, 2, 2)
		must(t, second.confirm(t.Context()))
	}}
	if _, err := claim("third", first.generation.ID, pages); !errors.As(err, new(*refused)) {
		t.Fatalf("it goes on from an older state: %v", err)
	}
	head, _, err := readHead(t.Context(), s.own)
	must(t, err)
	if head.newest() != second.generation.ID {
		t.Errorf("the newest is none of the second's: %+v", head.Generations)
	}
	if err := second.confirm(t.Context()); !errors.As(err, new(*refused)) {
		t.Errorf("the second has not lost the place: %v", err)
	}
}

// unanswered are objects of a place that takes each request, and never answers.
type unanswered struct{ objects }

func (unanswered) get(ctx context.Context, _ string) ([]byte, string, error) {
	<-ctx.Done()
	return nil, "", ctx.Err()
}

// An answer that never comes does not keep the lease from being renewed: who asks without a limit of its own waits no longer than for a claim.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := &tenure{store: &store{own: unanswered{}}, gone: make(chan struct{}), asking: make(chan struct{}, 1)}
		began := time.Now()
		if err := held.confirm(context.Background()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != claimTime {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		select {
		case held.asking <- struct{}{}:
		default:
			t.Error("nobody else can ask")
		}
	})
}
