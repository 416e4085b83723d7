package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/trace/output"
	"github.com/riverlytech/art/trace"
)

// options are the flags.
type options struct {
	log, syscalls, format, filterBy string
	engine                          string
	logFD, secretsFD                int
	summary, withSummary, report    bool
	json, separate, version         bool
	successful, failed              bool
	deny, paths, expressions        []string
	attach                          []int // processes
	style                           output.Style

	killed unix.Signal // what has ended the command, for art-trace to end by
	// quietDenied: nothing is written of what --deny refuses.
	quietDenied bool
	// incomplete: somebody has been told that something is missing in the log.
	incomplete bool
}

func newOptions() *options {
	return &options{filterBy: "self", logFD: -1, secretsFD: -1}
}

// variables are what the flags set.
func (o *options) variables() map[string]any {
	qualify := func(qualifier, alone string) func(string) error {
		return func(list string) error {
			if list == "true" { // the flag alone
				list = alone
			}
			return o.qualify(qualifier, list)
		}
	}
	return map[string]any{
		"log": &o.log, "log-fd": descriptor(&o.logFD), "secrets-fd": descriptor(&o.secretsFD), "syscalls": &o.syscalls, "format": &o.format,
		"filter-by": &o.filterBy, "engine": &o.engine, "entries": &o.style.Entries, "attach": o.process, "summary": &o.summary, "with-summary": &o.withSummary,
		"report": &o.report, "json": &o.json, "deny": &o.deny, "e": &o.expressions, "trace-path": &o.paths,
		"successful-only": &o.successful, "failed-only": &o.failed,
		"signal": qualify("signal", "all"), "status": qualify("status", ""), "quiet": qualify("quiet", "attach"), "no-exits": &o.style.NoExits,
		"no-abbrev": &o.style.Whole, "decode-fds": qualify("decode-fds", "path"), "decode-sockets": fixed(o.descriptors, "all"),
		"timestamps": o.clock, "precise-timestamps": fixed(o.clock, "time,us"), "unix-timestamps": fixed(o.clock, "unix,us"),
		"relative-timestamps": precise(&o.style.Since), "syscall-times": precise(&o.style.Duration), "columns": &o.style.Column,
		"string-limit": &o.style.Strings, "strings-in-hex": o.inHex, "non-ascii-in-hex": fixed(o.inHex, "non-ascii"),
		"output-separately": &o.separate, "follow-forks": new(bool), "seccomp-bpf": new(bool), "version": &o.version,
	}
}

// process takes the ids of processes to attach to, between commas or spaces.
func (o *options) process(list string) error {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if len(words) == 0 {
		return errors.New("no process is named")
	}
	for _, word := range words {
		pid, err := strconv.ParseInt(word, 10, 32)
		if err != nil || pid <= 0 {
			return fmt.Errorf("%q is no id of a process", word)
		}
		o.attach = append(o.attach, int(pid))
	}
	return nil
}

// descriptor returns a function that takes the number of a descriptor.
func descriptor(fd *int) func(string) error {
	return func(word string) error {
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is no number of a descriptor", word)
		}
		*fd = int(n)
		return nil
	}
}

// complete draws together what several flags say.
func (o *options) complete() error {
	for _, text := range o.expressions {
		if err := o.express(text); err != nil {
			return fmt.Errorf("read -e %s: %w", text, err)
		}
	}
	switch {
	case o.successful && o.failed:
		return cli.WithHint(errors.New("both successful and failed calls are asked for"), "leave both flags out to have all calls")
	case o.successful:
		o.style.Only |= output.Successful
	case o.failed:
		o.style.Only |= output.Failed
	}
	if err := o.chooseFormat(); err != nil {
		return err
	}
	if err := o.checkEntries(); err != nil {
		return err
	}
	if o.separate && (o.log == "" || o.format != formatText || o.withSummary) {
		return errors.New("-ff: a file for each thread needs a --log to be named after, and a trace in text")
	}
	return nil
}

// checkEntries refuses what needs more than entries, if no more is asked for.
func (o *options) checkEntries() error {
	if !o.style.Entries {
		return nil
	}
	for flag, given := range map[string]bool{
		"-z, -Z and --status": o.style.Only != output.Any, "-T": o.style.Duration != output.NotShown, "-C": o.withSummary, "--attach": o.attach != nil,
		"-e read and -e write": o.style.Dump.Read != nil || o.style.Dump.Written != nil,
	} {
		if given {
			return cli.WithHint(fmt.Errorf("read --entries: %s cannot be had with it", flag), "leave out --entries: exits are seen then, too")
		}
	}
	return nil
}

// engines are the engines of package trace by the names of --engine.
var engines = map[string]trace.Engine{"": trace.Auto, "auto": trace.Auto, "ptrace": trace.Ptrace, "notify": trace.Notification}

// chooseFormat makes of --format and the flags that stand for formats one: json may be said of a report and of
// a summary, too.
func (o *options) chooseFormat() error {
	switch o.format {
	case "":
	case formatJSON:
		o.json = true
	case formatSummary:
		o.summary = true
	case formatReport:
		o.report = true
	case formatText:
		if o.json || o.summary || o.report {
			return errors.New("read --format: the format is text, and another flag asks for another one")
		}
	}
	switch {
	case o.summary && o.report:
		return errors.New("read --format: a summary and a report are both asked for")
	case o.withSummary && (o.json || o.summary || o.report):
		return errors.New("-C: the table comes behind a trace in text")
	case o.summary:
		o.format = formatSummary
	case o.report:
		o.format = formatReport
	case o.json:
		o.format = formatJSON
	default:
		o.format = formatText
	}
	return nil
}
