package output

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// Summary is a trace.Handler that counts calls, and writes a table in the form of
// `strace -c` at the end. The times are those from a call's entry to its exit, as
// with strace's -w: they include waiting.
type Summary struct {
	trace.Ignore
	w     io.Writer
	only  Only
	json  bool
	calls map[string]*count
}

// count is what is known of the calls of one name.
type count struct {
	name          string
	calls, errors int
	spent         time.Duration
}

var _ trace.Handler = (*Summary)(nil)

// NewSummary returns a Summary that writes to w: a table, or one JSON object.
func NewSummary(w io.Writer, only Only, json bool) *Summary {
	return &Summary{w: w, only: only, json: json, calls: map[string]*count{}}
}

// Exit implements trace.Handler.
func (s *Summary) Exit(c *decode.Call) error {
	if !s.only.has(c) {
		return nil
	}
	name := c.Name
	if c.Foreign() {
		name = archName(c) + ":" + name
	}
	n := s.calls[name]
	if n == nil {
		n = &count{name: name}
		s.calls[name] = n
	}
	n.calls++
	n.spent += c.Duration
	if c.Failed {
		n.errors++
	}
	return nil
}

// Finish writes the table.
func (s *Summary) Finish() error {
	rows := make([]*count, 0, len(s.calls))
	total := &count{name: "total"}
	for _, n := range s.calls {
		rows = append(rows, n)
		total.calls, total.errors, total.spent = total.calls+n.calls, total.errors+n.errors, total.spent+n.spent
	}
	slices.SortFunc(rows, func(a, b *count) int {
		return cmp.Or(cmp.Compare(b.spent, a.spent), cmp.Compare(b.calls, a.calls), cmp.Compare(a.name, b.name))
	})
	if s.json {
		return s.object(rows, total)
	}
	const rule = "------ ----------- ----------- --------- --------- ----------------\n"
	var b bytes.Buffer
	b.WriteString("% time     seconds  usecs/call     calls    errors syscall\n" + rule)
	row := func(n *count) {
		percent, errors := 100.0, ""
		if n != total {
			percent = 100 * n.spent.Seconds() / max(total.spent.Seconds(), 1e-9)
		}
		if n.errors > 0 {
			errors = fmt.Sprint(n.errors)
		}
		fmt.Fprintf(&b, "%6.2f %11.6f %11d %9d %9s %s\n", percent, n.spent.Seconds(),
			n.spent.Microseconds()/int64(max(n.calls, 1)), n.calls, errors, n.name)
	}
	for _, n := range rows {
		row(n)
	}
	b.WriteString(rule)
	row(total)
	if _, err := s.w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// object writes the table as an object.
func (s *Summary) object(rows []*count, total *count) error {
	type row struct {
		Call    string  `json:"call,omitempty"`
		Calls   int     `json:"calls"`
		Errors  int     `json:"errors"`
		Seconds float64 `json:"seconds"`
	}
	all := struct {
		Calls []row `json:"calls"`
		Total row   `json:"total"`
	}{Calls: []row{}, Total: row{"", total.calls, total.errors, total.spent.Seconds()}}
	for _, n := range rows {
		all.Calls = append(all.Calls, row{n.name, n.calls, n.errors, n.spent.Seconds()})
	}
	encoder := json.NewEncoder(s.w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}
