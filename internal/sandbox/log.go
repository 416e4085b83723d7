package sandbox

import (
	"slices"
	"strconv"
)

// maxLogged bounds what the log of sessions is given of a command, in bytes.
const maxLogged = 4096 - 64

// logged returns of a command what the log of sessions says.
func logged(command []string) []string {
	room := maxLogged
	for i, arg := range command {
		if len(arg) > room {
			return append(slices.Clone(command[:i]), arg[:room], "...")
		}
		if room -= len(arg) + 1; room <= 0 {
			return append(slices.Clone(command[:i+1]), "...")
		}
	}
	return command
}

// endLog tells art-fuse the exit code, if there is one. What the log lacks is no reason to fail.
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
