package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/reconcile/patch"
	"github.com/riverlytech/art/sqlvfs"
)

// BlameOptions say of what file, and how it is shown.
type BlameOptions struct {
	DB, Dir, Path string
	Stdout        io.Writer
	Terminal      bool // Stdout is one
	JSON          bool
}

// lines are some of a file that follow each other and have come at once, as JSON has them.
type lines struct {
	First   int        `json:"first"` // from 1
	Last    int        `json:"last"`
	From    *int64     `json:"from"` // the checkpoint before they came; null: they were there before
	To      *int64     `json:"to"`   // the first that has them; null: none has
	Time    *time.Time `json:"time"` // of the last change of the file until then
	Session *int64     `json:"session"`
	Command []string   `json:"command"`    // of the session; null: it was none
	Label   *string    `json:"label"`      // of the first checkpoint of the session that has them and a label
	Process *int64     `json:"process"`    // that has written the file last by then; null: unknown
	By      []string   `json:"by"`         // its command line
	Mapping bool       `json:"by_mapping"` // it was written by mapped pages: likely by this process
	Among   int        `json:"among"`      // how many processes have written the file in that time; 0: unknown
}

// Blame shows between which checkpoints each line of a file has come, and in which session. What the file was on the host, before a guest
// has changed it, nobody is blamed for.
func Blame(ctx context.Context, o BlameOptions) error {
	live.Settle(o.DB)
	now, err := sqlvfs.OpenMoment(o.DB, "")
	if err != nil {
		return fmt.Errorf("open database %s: %w", o.DB, Hinted(o.DB, err))
	}
	d := &comparer{ctx: ctx, from: now, to: now, opt: &DiffOptions{DB: o.DB, Dir: o.Dir}}
	b := &blame{comparer: d, moment: now}
	defer func() { b.moment.Close() }()
	if err := d.findWorkspace(); err != nil {
		return err
	}
	if d.host != nil {
		defer d.host.Close()
	}
	if b.checkpoints, err = now.Checkpoints(); err == nil {
		b.sessions, err = now.Sessions()
	}
	if err == nil {
		b.dropped, err = now.DroppedLabels()
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", o.DB, err)
	}
	at, err := d.inHome([]string{o.Path}, func(rel string) bool { return d.knows(rel) || d.knew(b.checkpoints, rel) })
	if err != nil {
		return err
	}
	b.names = strings.Split(at[0], "/")
	if err := b.begin(); errors.Is(err, unix.ENOENT) {
		return cli.WithHint(fmt.Errorf("blame %s: it is not there any more", quote.Name(o.Path, o.Terminal)), "art log with the path says where it has changed")
	} else if err != nil {
		return fmt.Errorf("blame %s: %w", quote.Name(o.Path, o.Terminal), err)
	}
	for more := true; more && err == nil; {
		if err = ctx.Err(); err == nil {
			more, err = b.back()
		}
	}
	if err != nil {
		return fmt.Errorf("blame %s: %w", quote.Name(o.Path, o.Terminal), err)
	}
	return b.print(&o)
}

// blame goes back from the present, and from version to version of a file.
type blame struct {
	*comparer
	checkpoints []sqlvfs.Checkpoint // the newest first
	dropped     []sqlvfs.Checkpoint // that had labels
	sessions    []sqlvfs.Session    // the latest first
	names       []string            // of the path

	moment *sqlvfs.Moment  // it has come to
	file   *object         // then
	way    []sqlvfs.NameIn // to it, as far as they are rows
	text   string          // of the file then
	of     []int           // for each line of that, the line of the present that it is, or -1
	whole  []string        // the lines of the present
	came   []*lines        // for each of these, where it has come; nil: not known yet
}

// find returns what the path leads to at a moment, and the names on the way to it that are rows.
func (b *blame) find(m *sqlvfs.Moment) (o *object, way []sqlvfs.NameIn, err error) {
	o, err = b.object(m, sqlvfs.RootIno)
	for _, name := range b.names {
		if o == nil || err != nil {
			return nil, nil, err
		}
		if o.row != nil {
			way = append(way, sqlvfs.NameIn{Dir: o.row.Ino, Name: name})
		}
		o, err = b.child(o, name)
	}
	return o, way, err
}

var (
	errNoText = errors.New("it is no text")
	errNoFile = errors.New("it is no regular file")
)

func (b *blame) begin() (err error) {
	if b.file, b.way, err = b.find(b.moment); err != nil {
		return err
	}
	switch {
	case b.file == nil:
		return unix.ENOENT
	case b.file.attr.Mode&unix.S_IFMT != unix.S_IFREG:
		return errNoFile
	}
	if b.text, err = b.textOf(b.file); err != nil {
		return err
	}
	b.whole = slices.Collect(strings.Lines(b.text))
	b.came = make([]*lines, len(b.whole))
	b.of = make([]int, len(b.whole))
	for i := range b.of {
		b.of[i] = i
	}
	return nil
}

func (b *blame) textOf(o *object) (string, error) {
	if o.attr.Size > textLimit {
		return "", errNoText
	}
	data, err := b.content(o)
	if err == nil && (&patch.File{New: data}).Binary() {
		err = errNoText
	}
	return string(data), err
}

// back goes to where the file may have been another one, and tells whether there is more to find out.
func (b *blame) back() (more bool, err error) {
	if !slices.Contains(b.came, nil) {
		return false, nil
	}
	ino := sqlvfs.Ino(0)
	if b.file.row != nil {
		ino = b.file.row.Ino
	}
	c, err := b.moment.ChangedAfter(b.way, ino)
	if err != nil {
		return false, err
	}
	if c == nil {
		return false, b.made(ino)
	}
	earlier, err := sqlvfs.OpenMoment(b.opt.DB, strconv.FormatInt(c.ID, 10))
	if err != nil {
		return false, err
	}
	later := b.moment
	defer later.Close()
	b.moment = earlier
	was, way, err := b.find(earlier)
	if was == nil && err == nil {
		was, way, err = b.renamed(earlier)
	}
	if err != nil {
		return false, err
	}
	if was != nil && was.attr.Mode&unix.S_IFMT != unix.S_IFREG {
		was = nil
	}
	text := ""
	if was != nil {
		text, err = b.textOf(was)
		switch {
		case errors.Is(err, errElsewhere):
			return false, nil // what is left was on the host
		case errors.Is(err, errNoText):
			was, text = nil, ""
		case err != nil:
			return false, err
		}
	}
	by := b.at(c)
	if err := b.by(later, by, ino); err != nil {
		return false, err
	}
	b.follow(text, by)
	b.file, b.way, b.text = was, way, text
	return was != nil, nil
}

// renamed returns the file by the name that it had at an earlier moment, where the path leads to nothing, and goes on by that name.
func (b *blame) renamed(earlier *sqlvfs.Moment) (was *object, way []sqlvfs.NameIn, err error) {
	row, host := b.file.row, b.file.host
	var n *sqlvfs.Node
	if row != nil {
		if n, err = earlier.Node(row.Ino); err != nil {
			return nil, nil, err
		}
		if o := row.Origin; o != nil && o.Base == b.name { // to be renamed, it was copied up
			host = o.Path
		}
	}
	var names []string
	switch {
	case n != nil:
		if names, err = namesOf(earlier, row.Ino); err != nil {
			return nil, nil, err
		}
	case host != "":
		names = append([]string{b.name}, strings.Split(host, "/")...)
	}
	if len(names) == 0 || slices.Equal(names, b.names) {
		return nil, nil, nil
	}
	now := b.names
	b.names = names
	if was, way, err = b.find(earlier); err != nil || was == nil || n != nil && (was.row == nil || was.row.Ino != row.Ino) {
		was, way, b.names = nil, nil, now
	}
	return was, way, err
}

// namesOf are those on a way from the root to an inode; none if there is no way.
func namesOf(m *sqlvfs.Moment, ino sqlvfs.Ino) (names []string, err error) {
	for ino != sqlvfs.RootIno {
		n, err := m.NameOf(ino)
		if err != nil || n.Dir == 0 || len(names) > unix.PathMax/2 { // a damaged tree may lead in circles
			return nil, err
		}
		names = append(names, n.Name)
		ino = n.Dir
	}
	slices.Reverse(names)
	return names, nil
}

// follow finds which lines of an older text those are that the file has, and that the others came by.
func (b *blame) follow(older string, by *lines) {
	stay := patch.Stay(older, b.text)
	old, was := make([]bool, len(b.of)), make([]int, len(stay))
	for i, n := range stay {
		if was[i] = -1; n >= 0 {
			was[i], old[n] = b.of[n], true
		}
	}
	for n, line := range b.of {
		if line >= 0 && !old[n] {
			b.came[line] = by
		}
	}
	b.of = was
}

// at is what is known of a change between a checkpoint and the next one.
func (b *blame) at(c *sqlvfs.Checkpoint) *lines {
	l := &lines{From: &c.ID, Time: timeOf(b.file.attr.Ctime)}
	i := slices.IndexFunc(b.checkpoints, func(x sqlvfs.Checkpoint) bool { return x.ID == c.ID })
	span := Span{From: c}
	if i > 0 {
		span.To = &b.checkpoints[i-1]
		l.To = &span.To.ID
	}
	ran := span.Ran(b.sessions)
	j := slices.IndexFunc(ran, func(s *sqlvfs.Session) bool {
		return l.Time != nil && !l.Time.Before(s.Started.Time()) && (s.Ended == nil || !l.Time.After(s.Ended.Time()))
	})
	if j < 0 {
		return l
	}
	s := ran[j]
	l.Session, l.Command = &s.ID, s.Command
	for i--; i >= 0; i-- {
		x := &b.checkpoints[i]
		if made := x.Made.Time(); x.Kind == sqlvfs.AtSession || s.Ended != nil && made.After(s.Ended.Time()) {
			break
		}
		if x.Label != "" {
			if !slices.ContainsFunc(b.dropped, func(d sqlvfs.Checkpoint) bool { return c.ID < d.ID && d.ID < x.ID }) {
				l.Label = &x.Label
			}
			break
		}
	}
	return l
}

// made has the lines that are left be those of whom a file was made by, if a process has made it. Of what came between checkpoints that are
// there no more, the last one who has written it is known.
func (b *blame) made(ino sqlvfs.Ino) error {
	l := &lines{Time: timeOf(b.file.attr.Ctime)}
	if at := b.moment.Checkpoint(); at != nil {
		l.To = &at.ID
	}
	if err := b.by(b.moment, l, ino); l.Process == nil || err != nil {
		return err
	}
	b.follow("", l)
	return nil
}

// by finds which process has written a file last between two checkpoints, as a moment knows it that comes after.
func (b *blame) by(m *sqlvfs.Moment, l *lines, ino sqlvfs.Ino) error {
	if ino == 0 {
		return nil
	}
	list, err := m.ChangesOf(ino)
	if err != nil {
		return err
	}
	among := map[int64]bool{}
	var last *sqlvfs.Change
	made := l.From != nil
	for i := range list {
		c := &list[i]
		made = made || c.What&sqlvfs.Made != 0
		if c.Layer != 0 || l.From != nil && c.After < *l.From || l.To != nil && c.After >= *l.To || c.What&(sqlvfs.Made|sqlvfs.Written) == 0 {
			continue
		}
		among[c.Process] = true
		if last == nil || later(c, last) {
			last = c
		}
	}
	if last == nil || !made {
		return nil
	}
	p, err := m.Process(last.Process)
	if p == nil || err != nil {
		return err
	}
	l.Time = timeOf(last.Last)
	if i := slices.IndexFunc(b.sessions, func(s sqlvfs.Session) bool { return s.ID == p.Session }); i >= 0 && l.Session == nil && p.Layer == 0 {
		s := &b.sessions[i]
		l.Session, l.Command, l.Label = &s.ID, s.Command, labelAfter(b.checkpoints, b.dropped, s, last.Last)
	}
	l.Process, l.By, l.Among, l.Mapping = &p.ID, p.Argv, len(among), last.What&sqlvfs.ByMapping != 0
	return nil
}

// later tells whether a change of a file's content came after another. A file is made before it is written, whatever clock either has.
func later(c, than *sqlvfs.Change) bool {
	if wrote := c.What&sqlvfs.Written != 0; wrote != (than.What&sqlvfs.Written != 0) {
		return wrote
	}
	return c.Last.After(than.Last)
}

func (b *blame) print(o *BlameOptions) error {
	var out bytes.Buffer
	if o.JSON {
		for i := 0; i < len(b.came); {
			l := lines{}
			if b.came[i] != nil {
				l = *b.came[i]
			}
			l.First = i + 1
			for by := b.came[i]; i < len(b.came) && b.came[i] == by; i++ {
				l.Last = i + 1
			}
			text, err := quote.JSON(l)
			if err != nil {
				return err
			}
			fmt.Fprintln(&out, text)
		}
	} else {
		digits := len(strconv.Itoa(len(b.whole)))
		labels := slices.ContainsFunc(b.came, func(l *lines) bool { return l != nil && l.Process != nil && l.Label != nil })
		for i, line := range b.whole {
			text := strings.TrimSuffix(line, "\n")
			if o.Terminal {
				text = cli.Printable(text)
			}
			fmt.Fprintf(&out, "%-9s %-16s  %-32s %s%*d  %s\n", b.came[i].span(), b.came[i].when(), b.came[i].who(), b.came[i].turn(labels), digits, i+1, text)
		}
	}
	_, err := o.Stdout.Write(out.Bytes())
	return err
}

// span is as art diff takes it.
func (l *lines) span() string {
	switch {
	case l == nil, l.From == nil:
		return "-"
	case l.To == nil:
		return fmt.Sprintf("%d..", *l.From)
	}
	return fmt.Sprintf("%d..%d", *l.From, *l.To)
}

func (l *lines) when() string {
	if l == nil || l.Time == nil {
		return ""
	}
	return l.Time.Local().Format("2006-01-02 15:04")
}

// turn is what the agent has called the turn, as a column, where there is one beside what the process is.
func (l *lines) turn(column bool) string {
	switch {
	case !column:
		return ""
	case l == nil || l.Process == nil || l.Label == nil:
		return fmt.Sprintf("%16s  ", "")
	}
	return fmt.Sprintf("%-16s  ", quote.Command([]string{*l.Label}, 16))
}

func (l *lines) who() string {
	switch {
	case l == nil:
		return ""
	case l.Process != nil:
		return quote.Command(l.By, 32)
	case l.Label != nil:
		return quote.Command([]string{*l.Label}, 32)
	case l.Session == nil:
		return "(no session)"
	}
	return quote.Command(l.Command, 32)
}
