// Package otel tests that the events of a session become spans of OpenTelemetry, by the program in docs/examples/otel and a collector that is
// built from its modules.
package otel

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

const config = `
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {debug: {verbosity: detailed}}
service: {telemetry: {metrics: {level: none}}, pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}
`

// output is what a program has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // GUARDED_BY(mu)
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func build(t *testing.T, dir, into string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", into, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", dir, err, out)
	}
}

func TestSpansOfCommands(t *testing.T) {
	if os.Getenv("ART_TEST_OTEL") == "" {
		t.Skip("left out: make test-otel builds a collector, and runs it")
	}
	dir := t.TempDir()
	example, err := filepath.Abs("../../../docs/examples/otel")
	if err != nil {
		t.Fatal(err)
	}
	build(t, example, filepath.Join(dir, "otel"))
	build(t, "testdata/collector", filepath.Join(dir, "collector"))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	if err := os.WriteFile(filepath.Join(dir, "collector.yml"), fmt.Appendf(nil, config, address), 0o600); err != nil {
		t.Fatal(err)
	}
	var received output
	ctx, stop := context.WithCancel(context.Background())
	collector := exec.CommandContext(ctx, filepath.Join(dir, "collector"), "--config", filepath.Join(dir, "collector.yml"))
	collector.Stdout, collector.Stderr = &received, &received
	if err := collector.Start(); err != nil {
		t.Fatal(err)
	}
	defer collector.Wait()
	defer stop()
	wait(t, &received, "Everything is ready")

	workspace := filepath.Join(dir, "workspace")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	session := exec.Command("sh", "-c", `"$ART_TEST_BIN/art" run --commands -q -d "$0/db" -m "$0/workspace" --events 3 -- sh -c 'echo made >file; uname -s; ls /nonexistent' 3>&1 >/dev/null | "$0/otel"`, dir)
	session.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+address, "XDG_STATE_HOME="+dir, "XDG_RUNTIME_DIR="+dir)
	if out, err := session.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wait(t, &received, "session")
	spans := map[string]string{}
	for _, text := range strings.Split(received.String(), "\nSpan #")[1:] {
		spans[field(text, "Name")] = text
	}
	for child, parent := range map[string]string{"sh": "session", "uname": "sh", "ls": "sh"} {
		if got, want := field(spans[child], "Parent ID"), field(spans[parent], "ID"); got == "" || got != want {
			t.Errorf("the parent of %s is %q, and %s is %q", child, got, parent, want)
		}
	}
	if !strings.Contains(spans["ls"], "process.exit.code: Int(2)") || !strings.Contains(spans["ls"], `["ls","/nonexistent"]`) {
		t.Errorf("ls: %s", spans["ls"])
	}
	if t.Failed() {
		t.Log(received.String())
	}
}

// wait waits until a program has written something.
func wait(t *testing.T, o *output, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(o.String(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q does not come:\n%s", text, o)
		}
	}
}

// field returns what a span is said to have.
func field(span, name string) string {
	m := regexp.MustCompile(`(?m)^ *` + name + ` *: (.*)$`).FindStringSubmatch(span)
	if m == nil {
		return ""
	}
	return m[1]
}
