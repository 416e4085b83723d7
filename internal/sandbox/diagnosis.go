package sandbox

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

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
