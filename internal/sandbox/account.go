package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/sandbox/view"
)

// account is who the caller is and who the guest becomes.
type account struct {
	uid, gid      int      // the guest's
	homes         []string // people's: the caller's, root's and other users'
	shells        []string // for the guest, the most wanted first
	passwd, group string   // the guest's files
}

// rootGuest is the guest's user and group id where the caller is root: what
// believes to be root tries to change owners, and fails.
const rootGuest = 1000

func newAccount() (*account, error) {
	passwd, err := readOptional("/etc/passwd")
	if err != nil {
		return nil, err
	}
	group, err := readOptional("/etc/group")
	if err != nil {
		return nil, err
	}
	a := &account{uid: os.Getuid(), gid: os.Getgid()}
	home, shell := entry(passwd, a.uid)
	if a.uid == 0 {
		a.uid, a.gid = rootGuest, rootGuest
	}
	for _, dir := range append(homes(passwd), home, os.Getenv("HOME")) {
		if filepath.IsAbs(dir) {
			a.homes = append(a.homes, filepath.Clean(dir))
		}
	}
	for _, sh := range []string{os.Getenv("SHELL"), shell, "/bin/bash", "/bin/sh"} {
		if filepath.IsAbs(sh) && !refusesLogin(sh) {
			a.shells = append(a.shells, sh)
		}
	}
	a.passwd = string(view.PasswdFile(passwd, a.uid, a.gid, a.shells[0]))
	a.group = string(view.GroupFile(group, a.gid))
	return a, nil
}

// homes returns the home directories of people in a passwd(5) file, other than those
// below /home: root's, and those of the ids that login.defs(5) sets apart for them.
func homes(passwd []byte) []string {
	const first, last = 1000, 60000
	var dirs []string
	for line := range strings.Lines(string(passwd)) {
		f := strings.Split(line, ":")
		if len(f) != 7 || strings.HasPrefix(f[5], "/home/") {
			continue
		}
		if uid, err := strconv.Atoi(f[2]); err == nil && (uid == 0 || uid >= first && uid <= last) {
			dirs = append(dirs, f[5])
		}
	}
	return dirs
}

// refusesLogin says whether sh is the shell of an account that has none.
func refusesLogin(sh string) bool {
	switch filepath.Base(sh) {
	case "nologin", "false", "sync", "true":
		return true
	}
	return false
}

// entry returns home and shell of uid in a passwd(5) file.
func entry(passwd []byte, uid int) (home, shell string) {
	for line := range strings.Lines(string(passwd)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) == 7 && f[2] == strconv.Itoa(uid) {
			return f[5], f[6]
		}
	}
	return "", "" // kept elsewhere (LDAP and the like): $HOME and $SHELL tell
}

func readOptional(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read the user database: %w", err)
	}
	return text, nil
}
