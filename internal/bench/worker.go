package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// request is a command for a worker, one JSON object a line.
type request struct {
	Script string   `json:"script"`
	Dir    string   `json:"dir"`
	Env    []string `json:"env"`
}

// answer is what became of it. Times are those of the command and all that it waited for.
type answer struct {
	Wall  time.Duration `json:"wall_ns"`
	Error string        `json:"error,omitempty"` // with what the command had to say
}

// work answers requests until there are no more.
func work(in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if err := answers.Encode(carryOut(r)); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

func carryOut(r request) answer {
	cmd := exec.Command("/bin/sh", "-ec", r.Script)
	cmd.Dir, cmd.Env = r.Dir, r.Env
	var said tail
	cmd.Stdout, cmd.Stderr = &said, &said
	begin := time.Now()
	err := cmd.Run()
	a := answer{Wall: time.Since(begin)}
	if err != nil {
		a.Error = fmt.Sprintf("%v: %s", err, said)
	}
	return a
}

// tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	const keep = 2000
	*t = append(*t, p...)
	*t = (*t)[max(0, len(*t)-keep):]
	return len(p), nil
}

// workerMain is the program as a worker, or as a command that a worker runs.
func workerMain(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "worker":
			return work(os.Stdin, os.Stdout)
		case "write":
			return writeFile(args[1:])
		case "random":
			return randomAccess(args[1:])
		case "append":
			return appendSynced(args[1:])
		case "files":
			return smallFilesMain(args[1:])
		}
	}
	return errors.New("usage: worker | write | random | append | files")
}
