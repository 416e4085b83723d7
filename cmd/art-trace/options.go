package main

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/trace/output"
	"github.com/riverlytech/art/trace/decode"
)

// options are the flags.
type options struct {
	log, syscalls, format, filterBy string
	logFD, secretsFD, attach        int
	summary, withSummary, report    bool
	json, separate, version         bool
	seconds, microseconds, epoch    bool
	successful, failed              bool
	hex, allHex                     bool
	deny, paths, expressions        []string
	style                           output.Style

	killed unix.Signal // what has ended the command, for art-trace to end by
	// incomplete: somebody has been told that something is missing in the log.
	incomplete bool
}

func newOptions() *options {
	return &options{filterBy: "self", logFD: -1, secretsFD: -1}
}

// variables are what the flags set.
func (o *options) variables() map[string]any {
	return map[string]any{
		"log": &o.log, "log-fd": &o.logFD, "secrets-fd": &o.secretsFD, "syscalls": &o.syscalls, "format": &o.format,
		"filter-by": &o.filterBy, "attach": &o.attach, "summary": &o.summary, "with-summary": &o.withSummary,
		"report": &o.report, "json": &o.json, "deny": &o.deny, "e": &o.expressions, "trace-path": &o.paths,
		"successful-only": &o.successful, "failed-only": &o.failed,
		"no-abbrev": &o.style.Whole, "decode-fds": &o.style.Files, "decode-sockets": &o.style.Sockets,
		"timestamps": &o.seconds, "absolute-timestamps": &o.microseconds, "unix-timestamps": &o.epoch,
		"relative-timestamps": &o.style.Since, "columns": &o.style.Column,
		"string-limit": &o.style.Strings, "syscall-times": &o.style.Duration, "strings-in-hex": &o.hex, "all-in-hex": &o.allHex, "no-exits": &o.style.NoExits,
		"output-separately": &o.separate, "follow-forks": new(bool), "version": &o.version,
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
	case o.epoch:
		o.style.Clock = output.Unix
	case o.microseconds:
		o.style.Clock = output.Microseconds
	case o.seconds:
		o.style.Clock = output.Seconds
	}
	switch {
	case o.successful && o.failed:
		return cli.WithHint(errors.New("both successful and failed calls are asked for"), "leave both flags out to have all calls")
	case o.successful:
		o.style.Only = output.Successful
	case o.failed:
		o.style.Only = output.Failed
	}
	switch {
	case o.allHex:
		o.style.Hex = decode.HexAll
	case o.hex:
		o.style.Hex = decode.HexOther
	}
	if err := o.chooseFormat(); err != nil {
		return err
	}
	if o.separate && (o.log == "" || o.format != formatText || o.withSummary) {
		return errors.New("-ff: a file for each thread needs a --log to be named after, and a trace in text")
	}
	return nil
}

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

// express takes an expression of strace's -e.
func (o *options) express(text string) error {
	qualifier, list, found := strings.Cut(text, "=")
	if !found {
		qualifier, list = "trace", text
	}
	switch qualifier {
	case "t", "trace":
		o.syscalls = selection(list)
		return nil
	case "s", "signal", "signals":
		signals, err := signalSet(list)
		o.style.Signals = signals
		return err
	case "decode-fds", "decode-fd":
		for what := range strings.SplitSeq(list, ",") {
			switch what {
			case "path":
				o.style.Files = true
			case "all", "socket", "dev", "pidfd", "signalfd":
				o.style.Sockets = true
			case "none":
				o.style.Files, o.style.Sockets = false, false
			default:
				return cli.WithHint(fmt.Errorf("unknown kind of descriptor %q", what), "use all, path, socket, dev, pidfd, signalfd or none")
			}
		}
		return nil
	case "status":
		switch list {
		case "successful":
			o.successful = true
		case "failed":
			o.failed = true
		default:
			return cli.WithHint(errors.New("not supported"), "give successful or failed; calls that do not return are always shown without either")
		}
		return nil
	}
	hint := "trace, signal, status and decode-fds are; see --help for the rest"
	switch qualifier {
	case "inject", "fault":
		hint = "refuse calls by --deny CALLS=ERRNO"
	case "abbrev", "a", "verbose", "v":
		hint = "-v shows structures whole"
	case "read", "reads", "r", "write", "writes", "w":
		hint = "-s N shows N bytes of what is read and written"
	case "quiet", "silent", "silence", "q":
		hint = "-qq leaves out how processes end"
	}
	return cli.WithHint(fmt.Errorf("%s is not supported", qualifier), hint)
}

// selection is the list for --syscalls that means what strace's list does: a ! there is for the whole list, and
// classes may stand without their %.
func selection(list string) string {
	rest, not := strings.CutPrefix(list, "!")
	items := strings.Split(rest, ",")
	for i, item := range items {
		switch item { // as older versions of strace had them
		case "file", "desc", "network", "process", "memory", "signal", "ipc":
			items[i] = "%" + item
		}
		if not {
			items[i] = "!" + items[i]
		}
	}
	return strings.Join(items, ",")
}

// signalSet reads a list of signals: all, none, or names, with ! in front all but these.
func signalSet(list string) (func(sig int) bool, error) {
	rest, not := strings.CutPrefix(list, "!")
	named := map[int]bool{}
	for name := range strings.SplitSeq(rest, ",") {
		switch name {
		case "all", "none":
			if strings.Contains(rest, ",") {
				return nil, fmt.Errorf("%s and other signals", name)
			}
			return func(int) bool { return (name == "all") != not }, nil
		}
		sig := decode.SignalNamed(name)
		if sig == 0 {
			return nil, cli.WithHint(fmt.Errorf("unknown signal %q", name), "use all, none, or names of signal(7), such as SIGTERM or term")
		}
		named[sig] = true
	}
	return func(sig int) bool { return named[sig] != not }, nil
}
