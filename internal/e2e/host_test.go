package e2e

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/riverlytech/art/internal/processes"
	sessions "github.com/riverlytech/art/internal/session"
)

// leftovers names what a session that used files below work has left: its
// processes (by command line and working directory), its mounts, and its files
// in the runtime and temporary directories.
func leftovers(work string) []string {
	work += "/"
	var found []string
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range procs {
		cmdline, _ := os.ReadFile(proc + "/cmdline")
		cwd, _ := os.Readlink(proc + "/cwd")
		if strings.Contains(string(cmdline), work) || strings.HasPrefix(cwd+"/", work) {
			found = append(found, "process "+filepath.Base(proc)+": "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	for _, dir := range processes.Mounts(work) {
		found = append(found, "mount "+dir)
	}
	sessions.List([]string{work + "run/art"}) // whoever looks for sessions sweeps the sockets of killed ones
	for _, dir := range []string{"run", ".tmp"} {
		filepath.WalkDir(work+dir, func(path string, d os.DirEntry, err error) error {
			// Directories that one session makes for all to come may stay.
			if err != nil || !d.IsDir() {
				found = append(found, "file "+path)
			}
			return nil
		})
	}
	return found
}

// unmountBelow takes down what a failed script has left mounted, so that its
// directory can be removed.
func unmountBelow(work string) {
	for _, dir := range processes.Mounts(work) {
		_ = exec.Command("fusermount3", "-u", "-z", dir).Run()
	}
}

// saidBesides returns what programs of a failed script wrote to files of their own, which its log
// does not show.
func saidBesides(work string) string {
	var text strings.Builder
	for _, name := range []string{"out", "err", "code", "said", "stalled", "mount.log"} {
		if data, err := os.ReadFile(filepath.Join(work, name)); err == nil {
			fmt.Fprintf(&text, "-- %s --\n%s\n", name, data[:min(len(data), 4000)])
		}
	}
	return text.String()
}

// digest is the SHA-256 of a file's content.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// groups says whether art finds a place for control groups here.
var groups = sync.OnceValue(func() bool {
	out, _ := exec.Command("art", "doctor").Output() // what else it finds is no matter
	return regexp.MustCompile("(?m)^ok +control groups").Match(out)
})

// unified returns where the hierarchy of control groups of version 2 is mounted, or "".
func unified() string {
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if exists(dir + "/cgroup.procs") {
			return dir
		}
	}
	return ""
}

// systemd says whether a manager of systemd can run here: it takes root, for its group.
func systemd() bool {
	for _, tool := range []string{"systemd", "systemctl", "dbus-daemon", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			return false
		}
	}
	return os.Getuid() == 0 && unified() != ""
}
