package fs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What a session holds that makes many files: resident bytes of its server for each of them, and how many it makes in a
// second.
func BenchmarkSession(b *testing.B) {
	for _, files := range []int{100_000, 250_000} {
		b.Run(strconv.Itoa(files), func(b *testing.B) {
			for b.Loop() {
				m := &mounted{directory: directory(b.TempDir()), base: b.TempDir(), db: filepath.Join(b.TempDir(), "a.db")}
				m.begin(b)
				before := m.resident(b)
				rates := makeFiles(b, m.at(""), files)
				b.ReportMetric(float64(m.resident(b)-before)/float64(files), "B/file")
				b.ReportMetric(rates[len(rates)-1], "files/s")
				if err := m.unmount(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// However many files a session makes, its server stays below a bound.
func TestMillionFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short")
	}
	m := newMounted(t)
	rates := makeFiles(t, m.at(""), 1_000_000)
	resident := m.resident(t)
	t.Logf("%d MB resident; files in a second: %.0f", resident/1e6, rates)
	if resident > 300e6 {
		t.Errorf("%d bytes are resident after a million files", resident)
	}
}

// resident is the memory of the server, in bytes.
func (m *mounted) resident(t testing.TB) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.server.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rss, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rss)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// makeFiles makes empty files, a thousand in a directory, and returns how many of each hundred thousand in a second.
func makeFiles(t testing.TB, dir string, n int) (rates []float64) {
	t.Helper()
	const part = 100_000
	begin := time.Now()
	for i := range n {
		sub := filepath.Join(dir, "dir"+strconv.Itoa(i/1000))
		if i%1000 == 0 {
			if err := os.Mkdir(sub, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Mknod(filepath.Join(sub, "file"+strconv.Itoa(i)), syscall.S_IFREG|0o644, 0); err != nil {
			t.Fatal(err)
		}
		if (i+1)%part == 0 {
			rates = append(rates, part/time.Since(begin).Seconds())
			begin = time.Now()
		}
	}
	return rates
}
