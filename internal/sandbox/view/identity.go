package view

import (
	"bytes"
	"fmt"
	"strconv"
)

// User is the guest's name and group.
const User = "agent"

// PasswdFile returns the text of passwd(5), host being the host's, in which uid
// is the user agent.
func PasswdFile(host []byte, uid, gid int, shell string) []byte {
	entry := fmt.Sprintf("%s:x:%d:%d:%s:%s:%s\n", User, uid, gid, User, Home, shell)
	return append([]byte(entry), without(host, User, uid)...)
}

// GroupFile returns the text of group(5), host being the host's, in which gid is
// the group agent.
func GroupFile(host []byte, gid int) []byte {
	return append(fmt.Appendf(nil, "%s:x:%d:\n", User, gid), without(host, User, gid)...)
}

// without returns the lines of file but those of the given name or id: each of
// the two must lead to the other and to nothing else.
func without(file []byte, name string, id int) []byte {
	var out []byte
	for line := range bytes.Lines(file) {
		fields := bytes.SplitN(line, []byte(":"), 4)
		if string(fields[0]) == name || len(fields) > 2 && string(bytes.TrimSpace(fields[2])) == strconv.Itoa(id) {
			continue
		}
		out = append(out, bytes.TrimSuffix(line, []byte("\n"))...)
		out = append(out, '\n')
	}
	return out
}
