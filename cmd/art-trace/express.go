package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/trace/output"
	"github.com/riverlytech/art/trace/decode"
)

// express takes an expression of strace's -e.
func (o *options) express(text string) error {
	qualifier, list, found := strings.Cut(text, "=")
	if !found {
		qualifier, list = "trace", text
	}
	return o.qualify(qualifier, list)
}

// qualify takes what is said of one thing.
func (o *options) qualify(qualifier, list string) error {
	switch qualifier {
	case "t", "trace":
		o.syscalls = selection(list)
		return nil
	case "s", "signal", "signals":
		signals, err := signalSet(list)
		o.style.Signals = signals
		return err
	case "decode-fds", "decode-fd":
		return o.descriptors(list)
	case "q", "quiet", "silent", "silence":
		return o.quiet(list)
	case "status":
		return o.status(list)
	case "r", "read", "reads":
		var err error
		o.style.Dump.Read, err = descriptorSet(list)
		return err
	case "w", "write", "writes":
		var err error
		o.style.Dump.Written, err = descriptorSet(list)
		return err
	}
	hint := "trace, signal, status, read, write, quiet and decode-fds are; see --help for the rest"
	switch qualifier {
	case "inject", "fault":
		hint = "refuse calls by --deny CALLS=ERRNO"
	case "abbrev", "a", "verbose", "v":
		hint = "-v shows structures whole"
	}
	return cli.WithHint(fmt.Errorf("%s is not supported", qualifier), hint)
}

// status takes how calls end that are shown; with ! in front they end otherwise.
func (o *options) status(list string) error {
	const all = output.Successful | output.Failed | output.Unfinished | output.Detached
	rest, not := strings.CutPrefix(list, "!")
	var only output.Only
	for how := range strings.SplitSeq(rest, ",") {
		bits, known := map[string]output.Only{
			"successful": output.Successful, "failed": output.Failed, "unfinished": output.Unfinished, "detached": output.Detached,
			"unavailable": 0, "all": all, "none": 0,
		}[how]
		if !known {
			return cli.WithHint(fmt.Errorf("unknown status %q", how), "use successful, failed, unfinished, detached, all or none")
		}
		only |= bits
	}
	if not {
		only ^= all
	}
	switch only {
	case all:
		only = output.Any
	case 0:
		only = output.Nothing
	}
	o.style.Only = only
	return nil
}

// descriptorSet reads a list of descriptors: all, none, or numbers, with ! in front all but these. Each further ! turns it round.
func descriptorSet(list string) (func(fd int) bool, error) {
	rest := strings.TrimLeft(list, "!")
	not := (len(list)-len(rest))%2 != 0
	if rest == "all" || rest == "none" {
		return func(int) bool { return (rest == "all") != not }, nil
	}
	named := map[int]bool{}
	for word := range strings.SplitSeq(rest, ",") {
		fd, err := strconv.ParseUint(word, 10, 31)
		if err != nil {
			return nil, cli.WithHint(fmt.Errorf("no descriptor %q", word), "use all, none, or numbers from 0 on")
		}
		named[int(fd)] = true
	}
	return func(fd int) bool { return named[fd] != not }, nil
}

// descriptors takes which kinds of descriptors are shown with what they refer to; with ! in front it is the others.
func (o *options) descriptors(list string) error {
	rest, not := strings.CutPrefix(list, "!")
	var shown decode.Descriptors
	for what := range strings.SplitSeq(rest, ",") {
		kind, known := map[string]decode.Descriptors{
			"path": decode.PathDescriptors, "socket": decode.SocketDescriptors, "dev": decode.DeviceDescriptors, "pidfd": decode.PidDescriptors,
			"signalfd": decode.NoDescriptors, "all": decode.AllDescriptors, "none": decode.NoDescriptors,
		}[what]
		if !known {
			return cli.WithHint(fmt.Errorf("unknown kind of descriptor %q", what), "use all, path, socket, dev, pidfd or none")
		}
		shown |= kind
	}
	if not {
		shown ^= decode.AllDescriptors
	}
	o.style.Descriptors = shown
	return nil
}

// quiet takes what is not written.
func (o *options) quiet(list string) error {
	for what := range strings.SplitSeq(list, ",") {
		switch what {
		case "attach", "personality", "path-resolution", "path-resolve", "personality-changes": // nothing is written of these
		case "exit", "exits":
			o.style.NoExits = true
		case "thread-execve", "superseded":
			o.style.NoTurns = true
		case "denied":
			o.quietDenied = true
		case "all":
			o.style.NoExits, o.style.NoTurns = true, true
		case "none":
			o.style.NoExits, o.style.NoTurns, o.quietDenied = false, false, false
		default:
			return cli.WithHint(fmt.Errorf("unknown kind of message %q", what),
				"use all, attach, denied, exit, path-resolution, personality, thread-execve or none")
		}
	}
	return nil
}

// clock takes how it is shown when lines began: a clock, a precision, or both, with format: and precision: in front or
// without. The flag alone is the time of day in seconds.
func (o *options) clock(list string) error {
	if list == "true" {
		list = "time,s"
	}
	for word := range strings.SplitSeq(list, ",") {
		kind, what, _ := strings.Cut(word, ":")
		if what == "" {
			what = kind
		}
		switch what {
		case "none":
			o.style.Began = output.NotShown
			continue
		case "time":
			o.style.Clock = output.TimeOfDay
		case "unix":
			o.style.Clock = output.Unix
		default:
			if err := precise(&o.style.Began)(what); err != nil {
				return cli.WithHint(err, "use none, time or unix, and s, ms, us or ns")
			}
		}
		o.style.Began = max(o.style.Began, output.Seconds)
	}
	return nil
}

// precise returns a function that takes how exactly a time is shown. The flag alone is to the microsecond.
func precise(p *output.Precision) func(string) error {
	return func(word string) error {
		precision, known := map[string]output.Precision{
			"true": output.Microseconds, "s": output.Seconds, "ms": output.Milliseconds, "us": output.Microseconds, "ns": output.Nanoseconds,
		}[word]
		if !known {
			return cli.WithHint(fmt.Errorf("unknown precision %q", word), "use s, ms, us or ns")
		}
		*p = precision
		return nil
	}
}

// inHex takes which strings are shown as numbers. The flag alone is all of them.
func (o *options) inHex(word string) error {
	hex, known := map[string]decode.Hex{
		"true": decode.HexAll, "all": decode.HexAll, "non-ascii": decode.HexOther, "non-ascii-chars": decode.HexBytes, "none": decode.NoHex,
	}[word]
	if !known {
		return cli.WithHint(fmt.Errorf("unknown kind of string %q", word), "use all, non-ascii, non-ascii-chars or none")
	}
	o.style.Hex = hex
	return nil
}

// fixed returns a function for a flag that stands for a value of another one.
func fixed(take func(string) error, value string) func(string) error {
	return func(on string) error {
		if on != "true" {
			return nil
		}
		return take(value)
	}
}

// selection is the list for --syscalls that means what strace's list does: a ! there is for the whole list, and
// classes may stand without their %.
func selection(list string) string {
	rest, not := strings.CutPrefix(list, "!")
	items := slices.DeleteFunc(strings.Split(rest, ","), func(item string) bool { return item == "" })
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
