package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
)

// newStatus makes the pipe for bubblewrap's reports and returns its writing end.
func (s *session) newStatus() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.status = make(chan []byte, 1)
	go func(status chan<- []byte) {
		defer r.Close()
		text, _ := io.ReadAll(r) // what could be read is what there is
		status <- text
	}(s.status)
	return w, nil
}

// exitStatus returns the payload's exit code, once the sandbox has ended, if it ran.
func (s *session) exitStatus() (code int, known bool) {
	if s.status == nil {
		return 0, false // there was none to the end
	}
	code, known = exitCode(<-s.status)
	return code, known && s.guest != nil
}

// exitCode returns the payload's exit code out of bubblewrap's reports, which are
// JSON objects one after the other. There is none if the payload never ran.
func exitCode(status []byte) (code int, ok bool) {
	d := json.NewDecoder(bytes.NewReader(status))
	for {
		var report struct {
			ExitCode *int `json:"exit-code"`
		}
		if err := d.Decode(&report); err != nil {
			return code, ok
		}
		if report.ExitCode != nil {
			code, ok = *report.ExitCode, true
		}
	}
}

// diagnosis keeps what bubblewrap says on its standard error, up to a bound. What
// art-trace says there is told at once: a trace that cannot be written down stops
// the guest or ends it.
type diagnosis struct {
	told io.Writer // what art-trace says
	mu   sync.Mutex
	text []byte // GUARDED_BY(mu)
}

const maxDiagnosis = 64 << 10

// Write never fails: what is too much is dropped.
func (d *diagnosis) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for line := range bytes.SplitAfterSeq(p, []byte("\n")) {
		if d.told != nil && bytes.HasPrefix(line, []byte("art-trace: ")) {
			d.told.Write(line) // nobody is left to be told that this failed
			continue
		}
		d.text = append(d.text, line[:min(len(line), maxDiagnosis-len(d.text))]...)
	}
	return len(p), nil
}

// String returns the beginning of the text in one line, without bubblewrap's own
// name before it.
func (d *diagnosis) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(d.text)), "\n")
	lines = lines[:min(len(lines), 3)]
	for i, line := range lines {
		// It may have been killed when it had said no more than its name.
		lines[i] = strings.TrimSpace(strings.TrimPrefix(line, "bwrap:"))
	}
	return strings.Join(lines, "; ")
}
