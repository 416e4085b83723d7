package main

import (
	"io"
	"os"

	"github.com/riverlytech/art/internal/syscalls"
	"github.com/riverlytech/art/internal/trace/output"
	"github.com/riverlytech/art/internal/trace/report"
	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/policy"
)

// The formats, by the names that --format takes.
const (
	formatText    = "text"
	formatJSON    = "json"
	formatSummary = "summary"
	formatReport  = "report"
)

// calls are those to trace. What a policy refuses is always in the trace.
func (o *options) calls() ([]string, error) {
	if o.syscalls == "" && o.report {
		return syscalls.Report().Names(), nil
	}
	_, err := syscalls.Parse(o.syscalls)
	return []string{o.syscalls}, err
}

// policy is made of the rules of --deny.
func (o *options) policy() (*policy.Policy, error) {
	p := &policy.Policy{}
	for _, rule := range o.deny {
		if err := p.Refuse(rule); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// unseen reports whether nothing is to be written of what --deny refuses: that is asked for, or calls that fail are not shown.
func (o *options) unseen() bool {
	return o.quietDenied || !o.report && !o.style.Only.Shows(output.Failed)
}

// logger returns the handler that writes the trace to log, and what to call at the end of the trace.
func (o *options) logger(log *os.File) (trace.Handler, func() error) {
	w := patient(log)
	nothing := func() error { return nil }
	switch {
	case o.summary:
		last := output.NewSummary(o.enduring(w), o.style.Only, o.json)
		return o.counting(last), last.Finish
	case o.report:
		last := report.New(o.enduring(w), o.json)
		return o.counting(last), last.Finish
	case o.separate:
		return output.NewSeparateText(o.openSeparate, o.style), nothing
	case o.withSummary:
		last := output.NewSummary(o.enduring(w), o.style.Only, false)
		return trace.Chain(o.single(o.enduring(w)), last), last.Finish
	}
	return o.single(o.enduring(w)), nothing
}

// counting returns the handler that counts for a digest.
func (o *options) counting(digest trace.Handler) trace.Handler {
	if o.style.Entries {
		return output.Asked(digest)
	}
	return digest
}

// single returns the handler that writes the trace to one file.
func (o *options) single(w io.Writer) trace.Handler {
	if o.json {
		return output.NewJSON(w, o.style)
	}
	return output.NewText(w, o.style)
}
