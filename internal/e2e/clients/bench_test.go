package clients

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// What BenchmarkInstall installs: as many packages as a small web application has, each of the usual size.
const packages, packageBytes = 300, 40 << 10

// installed is a directory with that many dependencies, all from the test's servers.
var installed = client{"npm ci", `cd app && npm ci --cafile ../ca.pem --cache ../cache --no-audit --no-fund >&2 && cat node_modules/*/README | sort -u`}

// BenchmarkInstall gives what npm ci takes with the network by name, over both wires, beside the host's network: medians of runs that
// take turns.
func BenchmarkInstall(b *testing.B) {
	if os.Getenv("ART_TEST_CLIENTS") == "" {
		b.Skip("left out: make test-clients BENCH=. installs what this needs, and runs it")
	}
	h := newHost(b)
	application(b, h)
	s := h.session(b, 65534)
	wires := []struct {
		name, network string
		mode          uint32
	}{{"host", "host", 0o666}, {"tun", allowed, 0o666}, {"veth", allowed, 0o600}}
	times := make([][]time.Duration, len(wires))
	for b.Loop() {
		for i, w := range wires {
			h.device(b, w.mode)
			out, took, err := s.run(installed, allowed, w.network)
			if err != nil || !strings.Contains(out, greeting) {
				b.Fatalf("%s: %v\n%s", w.name, err, out)
			}
			times[i] = append(times[i], took)
		}
	}
	for i, w := range wires {
		slices.Sort(times[i])
		times[i] = times[i][len(times[i])/2:]
		b.ReportMetric(times[i][0].Seconds(), w.name+"-s/op")
		b.ReportMetric(times[i][0].Seconds()/times[0][0].Seconds(), w.name+"/host")
	}
	b.ReportMetric(0, "ns/op") // of all wires together: says nothing
}

// application leaves a directory with a lock file, and serves what it names.
func application(t testing.TB, h *host) {
	source := rand.NewChaCha8([32]byte{})
	lock := map[string]any{"": map[string]any{"name": "app", "version": "1.0.0"}}
	wanted := map[string]string{}
	for i := range packages {
		name := fmt.Sprintf("greeting-%d", i)
		random := make([]byte, packageBytes)
		_, _ = source.Read(random)
		tarball := targz(t, []file{
			{"package/package.json", fmt.Sprintf(`{"name": %q, "version": "1.0.0"}`, name)}, {"package/README", greeting + "\n"},
			{"package/index.js", string(bytes.Repeat([]byte("exports.greeting = 'hello'\n"), 200))}, {"package/data", string(random)},
		})
		path := "/npm/" + name + ".tgz"
		h.served.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(tarball) })
		sum := sha512.Sum512(tarball)
		wanted[name] = "1.0.0"
		lock["node_modules/"+name] = map[string]string{
			"version": "1.0.0", "resolved": "https://" + allowed + path, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		}
	}
	lock[""].(map[string]any)["dependencies"] = wanted
	for name, content := range map[string]any{
		"package.json":      map[string]any{"name": "app", "version": "1.0.0", "dependencies": wanted},
		"package-lock.json": map[string]any{"name": "app", "version": "1.0.0", "lockfileVersion": 3, "packages": lock},
	} {
		data, err := json.Marshal(content)
		must(t, err)
		h.write(t, "app/"+name, data)
	}
}
