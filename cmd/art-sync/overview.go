package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/history"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/netledger"
	"github.com/riverlytech/art/internal/overview"
	where "github.com/riverlytech/art/internal/replica/place"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/libexec"
)

// ofOne reads the command line of a command about one database, and finds that.
func ofOne(c *flags.Command, args []string) (p place, o overview.Options, err error) {
	p, o, _, err = ofOneWith(c, args, nil)
	return p, o, err
}

// ofOneWith is ofOne, with the words that are left. What the command has beside the usual flags goes into more.
func ofOneWith(c *flags.Command, args []string, more map[string]any) (p place, o overview.Options, words []string, err error) {
	o = overviewOptions()
	p.reads = true
	variables := p.variables()
	variables["json"], variables["all"] = &o.JSON, &o.All
	maps.Copy(variables, more)
	line, err := c.Parse(args, variables)
	if err == nil {
		words, err = line.Words, p.find()
	}
	return p, o, words, err
}

func overviewOptions() overview.Options {
	return overview.Options{Stdout: os.Stdout, Stderr: os.Stderr, Terminal: term.IsTerminal(int(os.Stdout.Fd()))}
}

func status(ctx context.Context, c *flags.Command, args []string) (err error) {
	p, o, err := ofOne(c, args)
	if err != nil {
		return err
	}
	defer p.close(&err)
	o.Session = live.Connect(p.db)
	return overview.Status(ctx, p.dir, p.db, o)
}

func showLog(ctx context.Context, c *flags.Command, args []string) (err error) {
	var commands, head string
	verify := false
	p, o, words, err := ofOneWith(c, args, map[string]any{"command": &commands, "verify": &verify, "head": &head})
	defer p.close(&err)
	switch {
	case err == nil && head != "" && !verify:
		return c.Wrong("--head is of --verify")
	case err == nil && verify && (commands != "" || len(words) > 0):
		return c.Wrong("--verify is of all that is recorded")
	case err == nil && verify:
		if err = history.Verify(history.VerifyOptions{DB: p.db, Head: head, Stdout: o.Stdout, JSON: o.JSON}); errors.Is(err, history.ErrHash) {
			return c.Wrong("--head %q: %v", head, err)
		}
		return err
	case err != nil || commands == "":
	case len(words) > 0:
		return c.Wrong("--command is of all paths")
	default:
		return history.Timeline(ctx, history.TimelineOptions{DB: p.db, Dir: p.dir, Command: commands, Stdout: o.Stdout, Stderr: os.Stderr, Terminal: o.Terminal, JSON: o.JSON})
	}
	if err == nil && len(words) > 0 {
		var spans []history.Span
		spans, err = history.Spans(ctx, p.db, p.dir, words)
		o.Spans = &spans
	}
	if err != nil {
		return err
	}
	return overview.Log(p.db, o)
}

func blame(ctx context.Context, c *flags.Command, args []string) (err error) {
	p, o, words, err := ofOneWith(c, args, nil)
	if err != nil {
		return err
	}
	defer p.close(&err)
	return history.Blame(ctx, history.BlameOptions{DB: p.db, Dir: p.dir, Path: words[0], Stdout: o.Stdout, Terminal: o.Terminal, JSON: o.JSON})
}

func timeline(ctx context.Context, c *flags.Command, args []string) (err error) {
	var t history.TimelineOptions
	p, o, words, err := ofOneWith(c, args, map[string]any{"command": &t.Command, "all": &t.All, "html": &t.HTML})
	defer p.close(&err)
	if err == nil && len(words) > 0 {
		if t.Session, err = strconv.ParseInt(words[0], 10, 64); err != nil || t.Session <= 0 {
			err = c.Wrong("%q is no number of a session", words[0])
		}
	}
	if err == nil && t.HTML && o.JSON {
		err = c.Wrong("--json and --html exclude each other")
	}
	if err != nil {
		return err
	}
	t.Stderr = os.Stderr
	t.DB, t.Dir, t.Stdout, t.Terminal, t.JSON = p.db, p.dir, o.Stdout, o.Terminal, o.JSON
	return history.Timeline(ctx, t)
}

func showNet(_ context.Context, c *flags.Command, args []string) (err error) {
	p, o := place{reads: true}, overviewOptions()
	defer p.close(&err)
	var show netledger.Show
	var follow, live, propose bool // art's but for the last
	variables := p.variables()
	variables["json"], variables["denied"], variables["host"], variables["follow"], variables["live"] = &show.JSON, &show.Denied, &show.Name, &follow, &live
	variables["propose"] = &propose
	line, err := c.Parse(args, variables)
	session := int64(0)
	if err == nil && len(line.Words) > 0 {
		if session, err = strconv.ParseInt(line.Words[0], 10, 64); err != nil || session <= 0 {
			err = c.Wrong("%q is no number of a session", line.Words[0])
		}
	}
	if err == nil {
		err = p.find()
	}
	if err != nil {
		return err
	}
	if propose {
		return overview.Propose(p.db, session, o)
	}
	return overview.Net(p.db, show, o)
}

func list(_ context.Context, c *flags.Command, args []string) error {
	o := overviewOptions()
	line, err := c.Parse(args, map[string]any{"json": &o.JSON})
	if err != nil {
		return err
	}
	if len(line.Words) > 0 {
		return atCopies(c, where.ParseAbove, line.Words[0], "list", o.JSON)
	}
	databases, err := databaseDir()
	if err != nil {
		return err
	}
	if own, _ := os.ReadDir(databases); len(own) == 0 && inSession() {
		return fmt.Errorf("list the databases: %w", errInSession)
	}
	return overview.List(databases, o)
}

func remove(ctx context.Context, c *flags.Command, args []string) error {
	o := overview.RemoveOptions{Stderr: os.Stderr}
	if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())) {
		o.Answer = os.Stdin
	}
	o.Forget = func(ctx context.Context, parent, path string, secret []byte) error {
		return history.Forget(ctx, path, secret, history.Options{DB: parent, Session: live.Connect(parent)})
	}
	line, err := c.Parse(args, map[string]any{"force": &o.Force, "quiet": &o.Quiet})
	if err != nil {
		return err
	}
	if len(line.Words) > 0 && strings.Contains(line.Words[0], "://") {
		return atCopies(c, where.Parse, line.Words[0], "remove", o.Force, o.Quiet)
	}
	p := place{dir: os.Getenv("ART_MOUNT")}
	err = p.find()
	if len(line.Words) > 0 { // also where the current directory is no workspace
		var databases string
		if databases, err = databaseDir(); err == nil {
			p.dir, p.db, err = overview.Named(databases, p.db, line.Words[0])
		}
	}
	if err != nil {
		return err
	}
	return overview.Remove(ctx, p.dir, p.db, o)
}

// databaseDir returns the directory of the databases of workspaces.
func databaseDir() (string, error) {
	user, err := readUser()
	if err != nil {
		return "", err
	}
	return workspace.Directory(user)
}

// atCopies becomes art-replicate, which lists or removes copies at a place.
func atCopies(c *flags.Command, parse func(string) (*url.URL, error), place, word string, how ...bool) error {
	if _, err := parse(place); err != nil {
		return c.Wrong("%w", err)
	}
	path, err := libexec.Find("art-replicate")
	if err != nil {
		return err
	}
	args := []string{path, word, place}
	for _, flag := range how {
		args = append(args, strconv.FormatBool(flag))
	}
	return syscall.Exec(path, args, libexec.Environ())
}
