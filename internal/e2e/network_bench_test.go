package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The guest of a benchmark is this program, which does in there what BENCH_GUEST says at the address that BENCH_SERVER names, and
// prints figures.
func init() {
	what, server := os.Getenv("BENCH_GUEST"), os.Getenv("BENCH_SERVER")
	if what == "" {
		return
	}
	if err := benchGuest(what, server); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func benchGuest(what, server string) error {
	dial := func() (net.Conn, error) { return net.Dial("tcp", server) }
	switch what {
	case "connect": // the median of many questions for the name, of connects, and of a byte there and back
		var times []time.Duration
		var address string
		host, port, _ := net.SplitHostPort(server)
		for range 300 {
			begun := time.Now()
			found, err := net.LookupHost(host)
			if err != nil {
				return err
			}
			times = append(times, time.Since(begun))
			address = net.JoinHostPort(found[0], port)
		}
		slices.Sort(times)
		fmt.Println("lookup-µs", float64(times[len(times)/2].Nanoseconds())/1000)
		times = times[:0]
		for range 300 {
			begun := time.Now()
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return err
			}
			times = append(times, time.Since(begun))
			conn.Close()
		}
		slices.Sort(times)
		fmt.Println("connect-µs", float64(times[len(times)/2].Nanoseconds())/1000)
		conn, err := dial()
		if err != nil {
			return err
		}
		defer conn.Close()
		times = times[:0]
		var b [1]byte
		for range 2000 {
			begun := time.Now()
			if _, err := conn.Write([]byte("e")); err != nil {
				return err
			}
			if _, err := io.ReadFull(conn, b[:]); err != nil {
				return err
			}
			times = append(times, time.Since(begun))
		}
		slices.Sort(times)
		fmt.Println("round-trip-µs", float64(times[len(times)/2].Nanoseconds())/1000)
	case "down", "up": // Gbit/s of one stream
		conn, err := dial()
		if err != nil {
			return err
		}
		defer conn.Close()
		n, until := 0, time.Now().Add(2*time.Second)
		buf := make([]byte, 256<<10)
		if _, err := conn.Write([]byte(what[:1])); err != nil {
			return err
		}
		begun := time.Now()
		for time.Now().Before(until) {
			var m int
			if what == "down" {
				m, err = conn.Read(buf)
			} else {
				m, err = conn.Write(buf)
			}
			if n += m; err != nil {
				return err
			}
		}
		fmt.Println(what+"-Gbit/s", float64(n)*8/1e9/time.Since(begun).Seconds())
	case "fair": // of 100 streams, what the slowest has of the mean
		var mu sync.Mutex
		var got []int
		var all sync.WaitGroup
		sum := 0
		for range 100 {
			conn, err := dial()
			if err != nil {
				return err
			}
			all.Go(func() {
				defer conn.Close()
				_, _ = conn.Write([]byte("d"))
				_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
				n, _ := io.Copy(io.Discard, conn)
				mu.Lock()
				defer mu.Unlock()
				got, sum = append(got, int(n)), sum+int(n)
			})
		}
		all.Wait()
		fmt.Println("slowest-of-mean", float64(slices.Min(got))/(float64(sum)/100))
		fmt.Println("100-streams-Gbit/s", float64(sum)*8/1e9/3)
	default: // so many connections at once, each with a byte there and back; then they are left open
		n, err := strconv.Atoi(what)
		if err != nil {
			return err
		}
		conns := make([]net.Conn, n)
		var all sync.WaitGroup
		errs := make(chan error, n)
		for i := range 50 {
			all.Go(func() {
				for at := i; at < n; at += 50 {
					var err error
					if conns[at], err = dial(); err == nil {
						_, err = conns[at].Write([]byte("e"))
					}
					if err == nil {
						_, err = io.ReadFull(conns[at], make([]byte, 1))
					}
					if err != nil {
						errs <- err
						return
					}
				}
			})
		}
		all.Wait()
		if len(errs) > 0 {
			return <-errs
		}
		fmt.Println("open")
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	return nil
}

// benchServer serves on the host's loopback: e is said back, after d comes all that can, and after u all is taken.
func benchServer(b *testing.B) (port int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				var first [1]byte
				for {
					if _, err := io.ReadFull(conn, first[:]); err != nil {
						return
					}
					buf := make([]byte, 256<<10)
					switch first[0] {
					case 'e':
						buf = nil
						if _, err := conn.Write(first[:]); err != nil {
							return
						}
					case 'd':
						for err == nil {
							_, err = conn.Write(buf)
						}
						return
					case 'u':
						for err == nil {
							_, err = conn.Read(buf)
						}
						return
					}
				}
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// networks are what is compared: the host's, and names.
func networks(port int) map[string][]string {
	return map[string][]string{
		"host":  {"--network", "host", "-e", "BENCH_SERVER=127.0.0.1:" + strconv.Itoa(port)},
		"names": {"--network", "host:" + strconv.Itoa(port), "-e", "BENCH_SERVER=host:" + strconv.Itoa(port)},
	}
}

func benchSession(b *testing.B, dir string, args ...string) *exec.Cmd {
	b.Helper()
	cmd := exec.Command("art", append([]string{"-q", "-i=false", "-m", dir}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(filepath.Dir(dir), "home"))
	cmd.Stderr = os.Stderr
	return cmd
}

// benchDir returns a workspace with this program in it.
func benchDir(b *testing.B) string {
	b.Helper()
	top := b.TempDir()
	dir := filepath.Join(top, "ws")
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.MkdirAll(filepath.Join(top, "home"), 0o755)
	}
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "guest"), program, 0o755)
	}
	if err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkNetwork measures what a program in a session gets of a server on the host, with the host's network and with names, by turns.
func BenchmarkNetwork(b *testing.B) {
	port, dir := benchServer(b), benchDir(b)
	for _, what := range []string{"connect", "down", "up", "fair"} {
		figures := map[string][]float64{}
		b.Run(what, func(b *testing.B) {
			for b.Loop() {
				for network, args := range networks(port) {
					out, err := benchSession(b, dir, slices.Concat(args, []string{"-e", "BENCH_GUEST=" + what, "--", "./guest"})...).Output()
					if err != nil {
						b.Fatal(err)
					}
					for line := range strings.Lines(string(out)) {
						name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
						if f, err := strconv.ParseFloat(value, 64); err == nil {
							figures[network+"-"+name] = append(figures[network+"-"+name], f)
						}
					}
				}
			}
			for name, all := range figures {
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], name)
			}
		})
	}
}

// BenchmarkNetworkStart measures a session that does nothing, by turns with the host's network and with names.
func BenchmarkNetworkStart(b *testing.B) {
	dir, times := benchDir(b), map[string][]float64{}
	for b.Loop() {
		for network, args := range networks(5432) {
			begun := time.Now()
			if err := benchSession(b, dir, append(args, "--", "true")...).Run(); err != nil {
				b.Fatal(err)
			}
			times[network] = append(times[network], float64(time.Since(begun).Microseconds())/1000)
		}
	}
	for network, all := range times {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], network+"-ms")
	}
}

// BenchmarkNetworkConnections measures the memory of art-net with 10,000 connections, and how often it wakes while nothing comes.
func BenchmarkNetworkConnections(b *testing.B) {
	port, dir := benchServer(b), benchDir(b)
	for b.Loop() {
		cmd := benchSession(b, dir, slices.Concat(networks(port)["names"], []string{"-e", "BENCH_GUEST=10000", "--", "./guest"})...)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(stdout, make([]byte, 5)); err != nil {
			b.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		status := netStatus(b, cmd.Process.Pid)
		b.ReportMetric(field(status, "VmRSS:")/1024, "MiB")
		b.ReportMetric(field(status, "VmHWM:")/1024, "MiB-peak")
		before := switches(status)
		time.Sleep(5 * time.Second)
		b.ReportMetric((switches(netStatus(b, cmd.Process.Pid))-before)/5, "wake-ups/s")
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}

// netStatus returns the status of the threads of a session's art-net, the first of them whole.
func netStatus(b *testing.B, session int) []byte {
	b.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range all {
		status, err := os.ReadFile(name)
		if err != nil || !bytes.HasPrefix(status, []byte("Name:\tart-net\n")) || field(status, "PPid:") != float64(session) {
			continue
		}
		threads, err := filepath.Glob(filepath.Join(filepath.Dir(name), "task/*/status"))
		if err != nil {
			b.Fatal(err)
		}
		for _, thread := range threads {
			if text, err := os.ReadFile(thread); err == nil {
				status = append(status, text...)
			}
		}
		return status
	}
	b.Fatal("there is no art-net")
	return nil
}

func field(status []byte, name string) float64 {
	_, rest, _ := bytes.Cut(status, []byte("\n"+name))
	value, _, _ := strings.Cut(strings.TrimSpace(string(rest[:min(len(rest), 40)])), "\n")
	f, _ := strconv.ParseFloat(strings.TrimSuffix(value, " kB"), 64)
	return f
}

// switches returns how often all threads of a status have waited for something.
func switches(status []byte) (sum float64) {
	for _, part := range bytes.Split(status, []byte("\nvoluntary_ctxt_switches:"))[2:] { // the first thread is there twice
		line, _, _ := bytes.Cut(part, []byte("\n"))
		f, _ := strconv.ParseFloat(strings.TrimSpace(string(line)), 64)
		sum += f
	}
	return sum
}
