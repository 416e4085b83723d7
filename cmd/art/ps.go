package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/quote"
	sessions "github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/internal/terminal"
	"github.com/riverlytech/art/libexec"
)

// runPs lists the sessions that run.
func runPs(c *flags.Command, args []string) (int, error) {
	var asJSON, watch, pending bool
	if _, err := c.Parse(args, map[string]any{"json": &asJSON, "watch": &watch, "pending": &pending}); err != nil {
		return c.Failed(err), err
	}
	if watch {
		err := watchSessions(pending)
		return c.Failed(err), err
	}
	var out strings.Builder
	list := listSessions(pending)
	var err error
	switch {
	case asJSON:
		err = sessionsAsJSON(&out, list)
	case len(list) == 0:
		fmt.Fprintln(os.Stderr, "art: no session runs")
	default:
		sessionTable(&out, list, isTerminal(os.Stdout))
	}
	if err == nil {
		_, err = io.WriteString(os.Stdout, out.String())
	}
	return c.Failed(err), err
}

// watchSessions shows the list until a key is pressed.
func watchSessions(pending bool) error {
	t := terminal.New(os.Stdin)
	if t == nil || !isTerminal(os.Stdout) {
		return errors.New("watch the sessions: standard input and output are not a terminal")
	}
	defer t.Close()
	if err := t.AwaitForeground(); err != nil {
		return err
	}
	if err := t.Raw(); err != nil {
		return err
	}
	defer t.Restore()
	fmt.Print("\x1b[?1049h\x1b[?25l")
	defer fmt.Print("\x1b[?25h\x1b[?1049l")
	for {
		var out strings.Builder
		sessionTable(&out, listSessions(pending), true)
		// Over what is there, so that nothing flickers.
		fmt.Print("\x1b[H" + strings.ReplaceAll(out.String(), "\n", "\x1b[K\r\n") + "\x1b[J")
		keys := []unix.PollFd{{Fd: int32(os.Stdin.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(keys, 1000)
		if n > 0 {
			_, _ = os.Stdin.Read(make([]byte, 64)) // or the shell would
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("poll", err)
		}
	}
}

// listed is a session, and what is pending of it, if that was asked for.
type listed struct {
	sessions.Listed
	asked   bool
	pending *control.Pending // nil if there is no database, or it cannot be said
}

// listSessions lists the sessions that run, with what is pending of each if that is asked for: to compare takes some
// milliseconds, and more the more there is.
func listSessions(pending bool) []listed {
	var list []listed
	for _, l := range sessions.List(sessions.Directories(os.Getenv)) {
		list = append(list, listed{Listed: l, asked: pending})
	}
	if !pending {
		return list
	}
	var wait sync.WaitGroup
	turn := make(chan struct{}, runtime.NumCPU())
	for i := range list {
		l := &list[i]
		if l.Err != nil || l.Database == "" {
			continue
		}
		wait.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			l.pending = pendingOf(l.Workspace, l.Database)
		})
	}
	wait.Wait()
	return list
}

// pendingOf has art-sync count what is pending in a database, or returns nil if it cannot.
func pendingOf(workspace, database string) *control.Pending {
	cmd, err := libexec.Command("art-sync", "status", "--json", "--mount", workspace, "--db", database)
	if err != nil {
		return nil
	}
	counts := &control.Pending{}
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, counts)
	}
	if err != nil {
		return nil
	}
	return counts
}

// sessionObject is a session as JSON has it.
type sessionObject struct {
	ID        string     `json:"id"`
	PID       int        `json:"pid"`
	Workspace string     `json:"workspace"`
	Database  *string    `json:"database"`
	Command   []string   `json:"command"`
	Started   *time.Time `json:"started"`
	State     string     `json:"state"`
	Stopped   bool       `json:"stopped"`
	Terminal  bool       `json:"terminal"`
	Processes int        `json:"processes"`
	Memory    int64      `json:"memory"`
	CPU       float64    `json:"cpu"`
	// Copied is where the database is copied to; nil: nowhere.
	Copied *sessions.Copied `json:"copied"`
	// Pending is there if it was asked for; what it points to is nil where it is not known.
	Pending **control.Pending `json:"pending,omitempty"`
	Error   string            `json:"error,omitempty"`
}

func sessionsAsJSON(out io.Writer, list []listed) error {
	for _, l := range list {
		o := sessionObject{ID: l.ID, State: "unknown", Command: []string{}}
		if l.Err != nil {
			o.Error = l.Err.Error()
		} else {
			o.PID, o.Workspace, o.Started, o.State, o.Stopped, o.Terminal = l.PID, l.Workspace, &l.Started, l.State.String(), l.Stopped, l.Terminal
			o.Command = append(o.Command, l.Command...)
			o.Processes, o.Memory, o.CPU = l.Usage.Processes, l.Usage.Memory, l.Usage.CPU.Seconds()
			o.Copied = sessions.CopiedOf(&l.SessionInfo)
			if l.Database != "" {
				o.Database = &l.Database
			}
			if l.asked {
				o.Pending = &l.pending
			}
		}
		line, err := quote.JSON(&o)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, line)
	}
	return nil
}

// sessionTable writes a line for each session, below headings, with columns that begin below each other.
func sessionTable(out io.Writer, list []listed, terminal bool) {
	rows := [][]string{{"ID", "STATE", "STARTED", "MEMORY", "CPU", "WORKSPACE", "COMMAND"}}
	numbers := 5 // up to here, from the fourth column on
	for _, l := range list {
		rows = append(rows, sessionRow(&l.Listed, terminal))
	}
	if len(list) > 0 && list[0].asked {
		rows[0] = slices.Insert(rows[0], numbers, "PENDING")
		for i := range list {
			rows[i+1] = slices.Insert(rows[i+1], numbers, list[i].pendingCell())
		}
		numbers++
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i >= 3 && i < numbers {
				cell, pad = pad+cell, ""
			}
			line += cell + pad + "  "
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
}

// pendingCell says how many paths are pending.
func (l *listed) pendingCell() string {
	switch p := l.pending; {
	case p != nil:
		return strconv.Itoa(p.Paths())
	case l.Err == nil && l.Database == "":
		return "-"
	}
	return "?"
}

func sessionRow(l *sessions.Listed, terminal bool) []string {
	if l.Err != nil {
		return []string{l.ID, "?", "", "", "", "", cli.Printable(l.Err.Error())}
	}
	state, started := l.State.String(), l.Started.Local().Format("2006-01-02 15:04")
	if l.Stopped {
		state = "stopped"
	}
	if l.Started.Local().Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		started = l.Started.Local().Format("15:04:05")
	}
	command := make([]string, len(l.Command))
	for i, word := range l.Command {
		command[i] = quote.Name(word, terminal)
	}
	if len(command) == 0 {
		command = []string{"(a shell)"}
	}
	const longest = 60
	text := strings.Join(command, " ")
	if utf8.RuneCountInString(text) > longest {
		text = string([]rune(text)[:longest-3]) + "..."
	}
	return []string{l.ID, state, started, cli.Bytes(l.Usage.Memory), cpuTime(l.Usage.CPU), quote.Name(l.Workspace, terminal), text}
}

// cpuTime is a time as ps has it: minutes and seconds, behind hours.
func cpuTime(d time.Duration) string {
	seconds := int(d / time.Second)
	if seconds < 3600 {
		return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}
