package main

import (
	"fmt"
	"io"

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

// format is the one that the flags ask for.
func (o *options) chosenFormat() (string, error) {
	format := o.format
	for name, wanted := range map[string]bool{formatSummary: o.summary, formatReport: o.report} {
		if !wanted {
			continue
		}
		if format != formatText && format != name {
			return "", fmt.Errorf("read --%s: the format is %s already", name, format)
		}
		format = name
	}
	return format, nil
}

// calls are those to trace. What a policy refuses is always in the trace.
func (o *options) calls(format string) ([]string, error) {
	if o.syscalls == "" && format == formatReport {
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

// finisher is a handler that has something to say at the end.
type finisher interface {
	trace.Handler
	Finish() error
}

// logger returns the handler that writes the trace to w, and what to call at the
// end of the trace.
func logger(format string, style output.Style, w io.Writer) (trace.Handler, func() error) {
	var last finisher
	switch format {
	case formatText:
		return output.NewText(enduring(w), style), func() error { return nil }
	case formatJSON:
		return output.NewJSON(enduring(w), style), func() error { return nil }
	case formatSummary:
		last = output.NewSummary(w)
	case formatReport:
		last = report.New(w)
	}
	return last, last.Finish
}
