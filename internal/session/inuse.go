package session

import (
	"fmt"
	"os"

	"github.com/riverlytech/art/internal/control"
)

// OfDatabase returns the session that has a database, with its id, or nil. The sockets are in the directories.
func OfDatabase(dirs []string, db string) *control.SessionInfo {
	is, err := os.Stat(db)
	if err != nil {
		return nil
	}
	for _, id := range IDs(dirs) {
		info := &control.SessionInfo{}
		conn, err := Dial(dirs, id, control.AskInfo, nil, info)
		if err != nil {
			continue // it has ended meanwhile, or is of another version
		}
		conn.Close()
		if its, err := os.Stat(info.Database); info.Database != "" && err == nil && os.SameFile(is, its) {
			info.ID = id
			return info
		}
	}
	return nil
}

// InUse says what to do instead to who wants a database for himself that a session has, given the environment. It is "" where no
// session is found.
func InUse(getenv func(string) string, db string) string {
	s := OfDatabase(Directories(getenv), db)
	if s == nil {
		return ""
	}
	attach := ""
	if s.Terminal {
		attach = fmt.Sprintf("art attach %s joins its terminal, ", s.ID)
	}
	return fmt.Sprintf("session %[1]s has it: %[2]sart exec %[1]s runs another command there, art kill %[1]s ends it; "+
		"art pull, push, diff and checkpoint work beside it", s.ID, attach)
}
