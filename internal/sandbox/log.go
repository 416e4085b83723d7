package sandbox

import (
	"os"
	"strconv"

	"github.com/riverlytech/art/internal/sandbox/wire"
)

// maxLogged bounds what the log of sessions is given of a command, in bytes. art-fuse may read it late, and a pipe
// takes at least as much without a reader (pipe(7), Pipe capacity).
const maxLogged = 4096 - 64

// logged is art's end of the pipe by which art-fuse, on its standard input, learns what the log of sessions says: the
// length of a message in a line, the message, which is the number of art's process and the command, and at the end of
// the session the exit code. No command line, which everybody can read, has it.
type logged struct{ *os.File }

// beginLog makes the pipe, writes what is known at the beginning, and returns art-fuse's end.
func (s *session) beginLog() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.log = &logged{w}
	room := maxLogged
	command := s.payload.Command
	for i, arg := range command {
		if len(arg) > room {
			command = append(append([]string{}, command[:i]...), arg[:room], "...")
			break
		}
		room -= len(arg) + 1
		if room <= 0 {
			command = append(append([]string{}, command[:i+1]...), "...")
			break
		}
	}
	message := wire.Marshal([]string{strconv.Itoa(os.Getpid())}, command)
	if _, err := w.Write(append([]byte(strconv.Itoa(len(message))+"\n"), message...)); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// endLog writes the exit code, if there is one. What the log lacks is no reason to fail.
func (s *session) endLog(code int, known bool) {
	if s.log == nil {
		return
	}
	if known {
		_, _ = s.log.WriteString(strconv.Itoa(code))
	}
	s.log.Close()
	s.log = nil
}
