package netledger

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

func frames(t *testing.T, all ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, v := range all {
		if err := control.WriteFrame(&b, v); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// kept is what a ledger hands on.
type kept struct {
	mu   sync.Mutex
	list []control.Flow
}

func (k *kept) save(list []control.Flow) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, list...)
	return nil
}

func newLedger(k *kept) (*Ledger, *[]uint64) {
	noted := &[]uint64{}
	owner := func(*control.NetEvent) (int, []string) { return 7, []string{"curl"} }
	return New(owner, func(n uint64) { *noted = append(*noted, n) }, k.save), noted
}

func event(kind control.NetEventKind, number uint64, what, why string) control.NetEvent {
	return control.NetEvent{Kind: kind, Number: number, What: what, Why: why, Time: time.Unix(int64(number), 0)}
}

func TestLedger(t *testing.T) {
	k := &kept{}
	l, noted := newLedger(k)
	now, later, stop := l.Follow()
	defer stop()
	if len(now) != 0 {
		t.Errorf("at first there are %v", now)
	}
	stream := frames(t,
		&control.NetEvents{Events: []control.NetEvent{event(control.NetBegun, 1, "a", ""), event(control.NetDenied, 2, "b", "no"), event(control.NetDenied, 3, "b", "no")}},
		&control.NetEvents{Events: []control.NetEvent{event(control.NetBegun, 4, "c", ""), event(control.NetEnded, 4, "c", control.FlowDenied),
			{Kind: control.NetEnded, Number: 1, Sent: 5, Received: 6}, event(control.NetEnded, 99, "x", "")}, Lost: 3},
		&control.NetReport{More: 4})
	// However it comes.
	if _, err := io.Copy(struct{ io.Writer }{l}, iotest.OneByteReader(bytes.NewReader(stream))); err != nil {
		t.Fatal(err)
	}
	if r := l.End(); r == nil || r.More != 4 {
		t.Errorf("the report is %+v", r)
	}
	var got []string
	for _, f := range k.list {
		got = append(got, fmt.Sprint(f.Number, f.What, f.Denied, f.Times, f.Sent, f.Open, f.PID))
	}
	if want := []string{"2btrue 2 0 false 7", "1afalse 1 5 false 7", "4false 3 0 false 0"}; !slices.Equal(got, want) {
		t.Errorf("kept is %q, not %q", got, want)
	}
	if !slices.Equal(*noted, []uint64{1, 2, 3, 4}) {
		t.Errorf("noted is %v", *noted)
	}
	n := 0
	for range later {
		n++
	}
	if n != 5 {
		t.Errorf("who follows was told %d", n)
	}
}

// One that is open is kept before it ends, and once more when it has.
func TestOpenIsKept(t *testing.T) {
	k := &kept{}
	l, _ := newLedger(k)
	_, _ = l.Write(frames(t, &control.NetEvents{Events: []control.NetEvent{event(control.NetBegun, 1, "a", "")}}))
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		k.mu.Lock()
		n := len(k.list)
		k.mu.Unlock()
		if n > 0 {
			break
		}
	}
	_, _ = l.Write(frames(t, &control.NetEvents{Events: []control.NetEvent{event(control.NetEnded, 1, "a", "")}}))
	l.End()
	if len(k.list) != 2 || !k.list[0].Open || k.list[1].Open || k.list[0].Number != k.list[1].Number {
		t.Errorf("kept is %+v", k.list)
	}
}

// Whatever art-net tells, there is a bound to what is kept of it, and nonsense is the end.
func TestLedgerIsBounded(t *testing.T) {
	k := &kept{}
	l, _ := newLedger(k)
	for i := range 3 * control.MaxDenialsKept / 100 {
		f := &control.NetEvents{}
		for j := range 100 {
			f.Events = append(f.Events, event(control.NetDenied, uint64(i*100+j+1), fmt.Sprint("n", i, ".", j), "no"))
		}
		_, _ = l.Write(frames(t, f))
	}
	l.End()
	last := k.list[len(k.list)-1]
	if len(k.list) != control.MaxDenialsKept+1 || last.What != "" || !last.Denied || last.Times != 2*control.MaxDenialsKept {
		t.Errorf("%d are kept, the last %+v", len(k.list), last)
	}
	if n := len(l.Recent()); n > mostRecent {
		t.Errorf("%d are remembered", n)
	}
	huge := binary.BigEndian.AppendUint32(nil, control.MaxFrame+1)
	long := event(control.NetDenied, 1, strings.Repeat("x", control.MaxNetText+1), "")
	for what, nonsense := range map[string][]byte{
		"too much": huge, "noise": append([]byte{0, 0, 0, 5}, "noise"...), "an empty frame": {0, 0, 0, 0},
		"a long name":      frames(t, &control.NetEvents{Events: []control.NetEvent{long}}),
		"another kind":     frames(t, &control.NetEvents{Events: []control.NetEvent{{Kind: 9}}}),
		"another document": frames(t, &control.Net{}),
	} {
		k := &kept{}
		l, _ := newLedger(k)
		good := frames(t, &control.NetEvents{Events: []control.NetEvent{event(control.NetDenied, 1, "a", "no")}})
		_, _ = l.Write(nonsense)
		if _, err := l.Write(good); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		l.End()
		if len(k.list) != 0 || len(l.read) != 0 {
			t.Errorf("%s: kept is %v", what, k.list)
		}
	}
}

// Neither connections nor one name that is denied again and again keep a denial out, and what comes again is counted.
func TestDenialsAreNotCrowdedOut(t *testing.T) {
	k := &kept{}
	var pid int
	owner := func(*control.NetEvent) (int, []string) { pid++; return pid, []string{"curl"} }
	l := New(owner, func(uint64) {}, k.save)
	number := uint64(0)
	write := func(kind control.NetEventKind, what, why string) {
		number++
		_, _ = l.Write(frames(t, &control.NetEvents{Events: []control.NetEvent{event(kind, number, what, why)}}))
		if kind == control.NetBegun {
			_, _ = l.Write(frames(t, &control.NetEvents{Events: []control.NetEvent{event(control.NetEnded, number, what, "")}}))
		}
	}
	for range control.MaxFlowsKept + 5 {
		write(control.NetBegun, "allowed", "")
	}
	for i := range control.MaxDenialsKept + 5 {
		if i%1000 == 0 {
			l.flush()
		}
		write(control.NetDenied, "again", fmt.Sprint("the first bytes are for ", i))
	}
	write(control.NetDenied, "evil.example", "no")
	l.flush()
	write(control.NetBegun, "allowed", "")
	l.End()
	times, evil, rows := map[int64]int64{}, false, 0
	for _, f := range k.list { // what comes again replaces what was
		if f.What == "again" {
			times[f.Number] = f.Times
		}
		evil = evil || f.What == "evil.example"
		if f.What == "" && !f.Denied && f.Times == 6 {
			rows++
		}
	}
	sum := int64(0)
	for _, n := range times {
		sum += n
	}
	if !evil || rows != 1 || len(times) > mostOfOne || sum != control.MaxDenialsKept+5 {
		t.Errorf("kept: %v, %d rows, %d denials in %d rows", evil, rows, sum, len(times))
	}
	numbers := map[int64]bool{}
	for _, f := range l.Recent() {
		if numbers[f.Number] {
			t.Errorf("%d is there twice", f.Number)
		}
		numbers[f.Number] = true
	}
}

// What cannot be handed on is counted, or comes again; only the end of who keeps it is the end.
func TestUnsaved(t *testing.T) {
	k := &kept{}
	l, _ := newLedger(k)
	fail := error(unix.ENOBUFS)
	l.save = func(list []control.Flow) error {
		if fail != nil {
			return fail
		}
		return k.save(list)
	}
	_, _ = l.Write(frames(t, &control.NetEvents{Events: []control.NetEvent{
		event(control.NetBegun, 1, "open", ""), event(control.NetBegun, 2, "over", ""), event(control.NetEnded, 2, "over", ""), event(control.NetDenied, 3, "b", "no"),
	}}))
	l.flush()
	fail = nil
	l.End()
	var got []string
	for _, f := range k.list {
		got = append(got, fmt.Sprint(f.What, f.Open, f.Denied, f.Times))
	}
	if want := []string{"opentrue false 1", "false false 1", "false true 1"}; !slices.Equal(got, want) {
		t.Errorf("kept is %q, not %q", got, want)
	}
}

func FuzzLedger(f *testing.F) {
	var b bytes.Buffer
	_ = control.WriteFrame(&b, &control.NetEvents{Events: []control.NetEvent{{Number: 1, What: "a"}, {Kind: control.NetDenied, Number: 2}}})
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		k := &kept{}
		l, _ := newLedger(k)
		if n, err := l.Write(data); n != len(data) || err != nil {
			t.Fatal(n, err)
		}
		l.End()
	})
}

// The process of a connection, and of a packet, is found by both its ends.
func TestOwners(t *testing.T) {
	sockets, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		t.Fatal(err)
	}
	o := NewOwners(os.Getpid(), sockets)
	defer o.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60") // has the connection, and this test has not
	cmd.ExtraFiles = []*os.File{file}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	ends := &control.NetEvent{Guest: conn.LocalAddr().String(), Peer: listener.Addr().String()}
	file.Close()
	conn.Close()
	var pid int
	var command []string
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until) && !slices.Equal(command, []string{"sleep", "60"}); time.Sleep(10 * time.Millisecond) {
		pid, command = o.Find(ends) // until it has been executed
	}
	if pid != cmd.Process.Pid || !slices.Equal(command, []string{"sleep", "60"}) {
		t.Errorf("it is %d %q, not %d", pid, command, cmd.Process.Pid)
	}
	for what, e := range map[string]*control.NetEvent{
		"no such connection": {Guest: "127.0.0.1:1", Peer: "127.0.0.1:2"}, "no address": {Guest: "x", Peer: "127.0.0.1:2"},
		"IPv6": {Guest: "[::1]:1", Peer: "[::1]:2", UDP: true}, "both": {Guest: "127.0.0.1:1", Peer: "[::1]:2"},
	} {
		if pid, _ := o.Find(e); pid != 0 {
			t.Errorf("%s: it is %d", what, pid)
		}
	}
	if pid, _ := NewOwners(os.Getpid(), -1).Find(ends); pid != 0 {
		t.Errorf("without a socket it is %d", pid)
	}
	udp, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:9")))
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	if inode, err := o.inode(udp.LocalAddr().(*net.UDPAddr).AddrPort(), netip.MustParseAddrPort("127.0.0.1:9"), true); err != nil || inode == 0 {
		t.Errorf("of a packet: %d, %v", inode, err)
	}
}

func TestBounded(t *testing.T) {
	for _, c := range [][]string{{strings.Repeat("x", 5000)}, slices.Repeat([]string{"abc"}, 2000), {"a", strings.Repeat("x", 1020), "b"}} {
		if got := strings.Join(bounded(c, control.MaxFlowCommand), "\x00"); len(got) > control.MaxFlowCommand+3 {
			t.Errorf("%d bytes are left", len(got))
		}
	}
}

func TestShow(t *testing.T) {
	f := &control.Flow{What: "a.Example", Port: 80, Command: []string{"x\x1b[31m\n"}, Why: "no\x1b", Denied: true, Times: 2}
	for s, want := range map[Show]bool{
		{}: true, {Denied: true}: true, {Name: "a.example."}: true, {Name: "*.example"}: true, {Name: "*.a.example"}: false, {Name: "b"}: false,
	} {
		if s.Matches(f) != want {
			t.Errorf("%+v: %v", s, !want)
		}
	}
	var b strings.Builder
	if err := (&Show{}).Line(&b, 0, f); err != nil || strings.ContainsAny(strings.TrimSuffix(b.String(), "\n"), "\x1b\n") {
		t.Errorf("it is %q, %v", b.String(), err)
	}
}
