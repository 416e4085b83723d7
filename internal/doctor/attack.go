package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/riverlytech/art/internal/attack"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/sandbox/stage"
	running "github.com/riverlytech/art/internal/session"
)

// AttackerName as the zeroth argument makes art the attacker. It is also what is
// executed in the guest, which need not be able to see art's executable: the stub
// still has it open when it becomes its payload. The stub itself has another spelling
// of it (stub.Path).
var AttackerName = "/proc/thread-self/fd/" + strconv.Itoa(stage.SelfFD)

// What a cell of the table says.
const (
	succeeds  = "succeeds"
	fails     = "fails"
	permitted = "allowed"
	notMade   = "-"
)

// column is how the attempts went in one place.
type column struct {
	mode    attack.Mode // "" is the host
	results map[string]string
}

// attackAll makes all attempts on the host, in direct and in overlay mode, as the first program of a session and as one that
// joins it, and writes a table. It returns the exit code: 1 if any succeeds in a session where nobody has
// allowed it. Without a session in overlay mode, it says so after the table.
func attackAll(ctx context.Context, o *Options, w io.Writer) (int, error) {
	allowed, err := o.Settle()
	if err != nil {
		return cli.ExitTrouble, err
	}
	dir, err := os.MkdirTemp("", "art-doctor-")
	if err != nil {
		return cli.ExitTrouble, fmt.Errorf("make a directory for the attempts: %w", err)
	}
	defer os.RemoveAll(dir)
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/nonexistent"
	}
	victim, err := attack.NewVictim(dir, home)
	if err != nil {
		return cli.ExitTrouble, err
	}
	defer victim.Close()

	command := attack.Command(AttackerName, victim.Target)
	outside := exec.CommandContext(ctx, "/proc/self/exe")
	outside.Args, outside.Env = command, append(os.Environ(), attack.Secret)
	outside.Dir = filepath.Join(dir, "outside")
	if err := attack.MakeWorkspace(outside.Dir); err != nil {
		return cli.ExitTrouble, fmt.Errorf("make a directory for the attempts: %w", err)
	}
	var missing error
	columns := []column{{}, {mode: attack.Direct}, {mode: attack.Overlay}}
	for i, cmd := range []*exec.Cmd{
		outside,
		session(ctx, o, []string{attack.Secret}, append([]string{"--db=", "--"}, command...)...),
		session(ctx, o, []string{attack.Secret}, append([]string{"--db", victim.Database, "--"}, command...)...),
	} {
		// It is left open to whatever does not close what it inherits.
		cmd.ExtraFiles = []*os.File{victim.Left}
		columns[i].results, err = results(cmd)
		switch {
		case ctx.Err() != nil:
			return cli.ExitTrouble, errors.New("attack the sandbox: interrupted")
		case err != nil && columns[i].mode == attack.Overlay:
			missing = fmt.Errorf("attack overlay mode: %w", err)
		case err != nil:
			return cli.ExitTrouble, err
		case columns[i].mode != "":
			if err := columns[i].join(ctx, o, cmd, command); err != nil {
				return cli.ExitTrouble, err
			}
		}
	}
	tell := tabulate
	if o.JSON {
		tell = list
	}
	if code, err := tell(columns, allowed, w); err != nil || code != cli.OK || missing == nil {
		return code, err
	}
	return cli.ExitTrouble, missing
}

// join makes all attempts once more, in the place of a program that joins such a session as cmd has run the attacker in. What
// succeeds there succeeds.
func (c *column) join(ctx context.Context, o *Options, cmd *exec.Cmd, attacker []string) error {
	if slices.Contains(o.Args, "--trace=true") {
		return nil // it has no other programs
	}
	hold, release, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("attack: %w", err)
	}
	defer release.Close()
	first := session(ctx, o, nil)
	first.Args = append(slices.Clone(cmd.Args[:len(cmd.Args)-len(attacker)]), "cat")
	first.Stdin, first.Env, first.ExtraFiles = hold, cmd.Env, cmd.ExtraFiles
	err = first.Start()
	hold.Close()
	if err != nil {
		return fmt.Errorf("attack: %w", err)
	}
	defer func() {
		release.Close()
		_ = first.Wait()
	}()
	id, err := idOf(ctx, first.Process.Pid)
	if err != nil {
		return err
	}
	joining := session(ctx, o, nil)
	joining.Args = append([]string{"art", "exec", "--interactive=false", id, "--"}, attacker...)
	joining.Env, joining.ExtraFiles = cmd.Env, cmd.ExtraFiles
	joined, err := results(joining)
	if err != nil {
		return fmt.Errorf("attack by a program that joins a session: %w", err)
	}
	for name, why := range joined {
		if why == "" {
			c.results[name] = ""
		}
	}
	return nil
}

// idOf returns the id of the session that a process is, once it has one.
func idOf(ctx context.Context, pid int) (string, error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		for _, s := range running.List(running.Directories(os.Getenv)) {
			if s.Err == nil && s.PID == pid {
				return s.ID, nil
			}
		}
	}
	return "", errors.New("attack: the session to be joined is not found")
}

func results(cmd *exec.Cmd) (map[string]string, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, said(errs.String(), fmt.Errorf("attack: %w: %s", err, bytes.TrimSpace(errs.Bytes())))
	}
	return attack.Results(out.String())
}

// tabulate writes a row for each attempt, and at the end what comes of it all. options
// are what the user allows.
func tabulate(columns []column, options []string, w io.Writer) (int, error) {
	var table bytes.Buffer
	row := func(cells ...any) { fmt.Fprintf(&table, "%-50s %-10s %-10s %s\n", cells...) }
	all, out, vain := attack.All(), 0, 0
	for i, a := range all {
		if i == 0 || a.Area != all[i-1].Area {
			if i > 0 {
				table.WriteByte('\n')
			}
			row(a.Area, "host", "direct", "overlay")
		}
		cells := []any{"  " + a.Name}
		free := false
		for _, c := range columns {
			cell := c.cell(&a, options)
			free = free || cell == succeeds && c.mode != ""
			cells = append(cells, cell)
		}
		if free {
			out++
		}
		if cells[1] == fails {
			vain++
		}
		row(cells...)
	}
	fmt.Fprintf(&table, "\n%d attempts, of which %d fail on this host without a sandbox, too", len(all), vain)
	code := cli.OK
	if out > 0 {
		code = cli.ExitError
		fmt.Fprintf(&table, ": %d BREAK OUT of the sandbox\n", out)
	} else {
		table.WriteString(": none breaks out of the sandbox\n")
	}
	if _, err := table.WriteTo(w); err != nil {
		return cli.ExitTrouble, fmt.Errorf("tell of the attempts: %w", err)
	}
	return code, nil
}

// list is tabulate as JSON, an object for each attempt.
func list(columns []column, options []string, w io.Writer) (int, error) {
	code := cli.OK
	for _, a := range attack.All() {
		object := map[string]string{"area": a.Area, "attempt": a.Name}
		for _, c := range columns {
			cell, place := c.cell(&a, options), string(cmp.Or(c.mode, "host"))
			if cell == notMade {
				continue
			}
			object[place] = cell
			if cell == succeeds && c.mode != "" {
				code = cli.ExitError
			}
		}
		if err := json.NewEncoder(w).Encode(object); err != nil {
			return cli.ExitTrouble, fmt.Errorf("tell of the attempts: %w", err)
		}
	}
	return code, nil
}

func (c *column) cell(a *attack.Attempt, options []string) string {
	switch {
	case c.results == nil, c.mode != "" && !a.In(c.mode):
		return notMade
	case c.results[a.Name] != "":
		return fails
	case c.mode != "" && slices.Contains(options, a.Option):
		return permitted
	}
	return succeeds
}
