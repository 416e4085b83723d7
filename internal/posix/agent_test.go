package posix

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// agentKey names the variable that makes the test program an agent: the value is its part.
const agentKey = "ART_POSIX_TEST_AGENT"

// agent is a process that makes system calls as one of the cast.
type agent struct {
	cmd *exec.Cmd
	in  *gob.Encoder
	out *gob.Decoder
	end io.Closer
}

// request is what one caller has to do now, in several stories.
type request struct {
	Side   int // which of the directories that the agent was given
	Scenes []scene
}

// scene is a part of a story in which only one caller acts.
type scene struct {
	Dir   string // the story's own
	Calls []call
}

// newAgent starts an agent for the directories, which it reaches whatever its rights on the way.
func newAgent(who string, sides ...string) (*agent, error) {
	a := &agent{cmd: exec.Command("/proc/self/exe")}
	a.cmd.Env = append(os.Environ(), agentKey+"="+who+" "+strconv.Itoa(len(sides)))
	a.cmd.Stderr = os.Stderr
	for _, dir := range sides {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", dir, err)
		}
		f := os.NewFile(uintptr(fd), dir)
		defer f.Close()
		a.cmd.ExtraFiles = append(a.cmd.ExtraFiles, f)
	}
	in, err := a.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.in, a.out, a.end = gob.NewEncoder(in), gob.NewDecoder(out), in
	return a, a.cmd.Start()
}

// act returns what each call of each scene came to.
func (a *agent) act(r request) ([][]string, error) {
	if err := a.in.Encode(r); err != nil {
		return nil, err
	}
	var results [][]string
	err := a.out.Decode(&results)
	return results, err
}

func (a *agent) close() error {
	a.end.Close()
	return a.cmd.Wait()
}

// runAgent is what an agent does until its standard input ends.
func runAgent(part string) error {
	who, n, _ := strings.Cut(part, " ")
	sides, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	p := cast[who]
	err = errors.Join(syscall.Setgroups(p.groups), syscall.Setresgid(p.id, p.id, p.id), syscall.Setresuid(p.id, p.id, p.id))
	if err != nil {
		return fmt.Errorf("become %s: %w", who, err)
	}
	// A process that has changed its ids may not look into its own /proc/self/fd otherwise (proc(5)).
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		return err
	}
	perform := &performer{open: map[string]int{}, notes: map[string]map[uint64]string{}}
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	for {
		var r request
		if err := in.Decode(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if r.Side >= sides {
			return fmt.Errorf("there is no side %d", r.Side)
		}
		var results [][]string
		for _, scene := range r.Scenes {
			list, err := perform.scene(r.Side, scene)
			if err != nil {
				return fmt.Errorf("%s on side %d: %w", scene.Dir, r.Side, err)
			}
			results = append(results, list)
		}
		// Nobody stays in a directory that is to be unmounted.
		if err := unix.Fchdir(3); err != nil {
			return err
		}
		if err := out.Encode(results); err != nil {
			return err
		}
	}
}

func (p *performer) scene(side int, s scene) ([]string, error) {
	p.where = fmt.Sprint(side, s.Dir)
	if err := unix.Fchdir(3 + side); err != nil {
		return nil, err
	}
	if err := unix.Chdir(s.Dir); err != nil {
		return nil, err
	}
	unix.Umask(0)
	var results []string
	for _, c := range s.Calls {
		results = append(results, p.call(c.Args))
	}
	return results, nil
}
