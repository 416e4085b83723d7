package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// guestWaits is how many seconds a program in the guest waits for its checkpoint.
const guestWaits = 30

// inGuest tells whether this is a program of a guest, whose session hears of checkpoints.
func inGuest() bool {
	info, err := os.Lstat(view.CheckpointSocket)
	return os.Getenv("ART_SANDBOX") == "1" && err == nil && info.Mode().Type() == os.ModeSocket
}

// runCheckpoint asks the session that this runs in for a checkpoint. One that names a database is art-sync's.
func runCheckpoint(c *flags.Command, args []string) (int, error) {
	var label, dir, db, agent string
	var asJSON, quiet bool
	line, err := c.Parse(args[1:], map[string]any{"label": &label, "mount": &dir, "db": &db, "agent": &agent, "json": &asJSON, "quiet": &quiet})
	switch {
	case err != nil:
		return c.Failed(err), err
	case line.Given("mount"), line.Given("db"), line.Given("agent"):
		return cli.ExitError, runSync(args)
	}
	number, err := askForCheckpoint(label)
	if err != nil {
		err = fmt.Errorf("make a checkpoint of this session: %w", err)
		return c.Failed(err), err
	}
	text := strings.TrimRight(fmt.Sprintf("checkpoint %d  %s", number, label), " ")
	if asJSON {
		text, err = quote.JSON(struct {
			Checkpoint int64  `json:"checkpoint"`
			Label      string `json:"label"`
		}{number, label})
	}
	if err == nil && (asJSON || !quiet) {
		_, err = fmt.Println(text)
	}
	return c.Failed(err), err
}

// askForCheckpoint has a word with art-fuse. Package net would take its time at every start of art.
func askForCheckpoint(label string) (int64, error) {
	line, err := control.GuestLine(label)
	if err != nil {
		return 0, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	socket := os.NewFile(uintptr(fd), "checkpoint")
	defer socket.Close()
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &unix.Timeval{Sec: guestWaits}); err != nil {
			return 0, err
		}
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: view.CheckpointSocket}); err != nil {
		return 0, err
	}
	if _, err := socket.WriteString(line); err != nil {
		return 0, err
	}
	answer := make([]byte, 1<<10)
	n, err := socket.Read(answer)
	if err != nil {
		return 0, err
	}
	text := strings.TrimSuffix(string(answer[:n]), "\n")
	if why, failed := strings.CutPrefix(text, control.GuestError); failed {
		return 0, errors.New(why)
	}
	number, err := strconv.ParseInt(strings.TrimPrefix(text, "checkpoint "), 10, 64)
	if err != nil {
		err = fmt.Errorf("the session answered %q", text)
	}
	return number, err
}
