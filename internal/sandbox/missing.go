package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// tellMissing says why the guest had no program of a name that the caller has: it is in a home, and these are hidden.
func (s *session) tellMissing() {
	if len(s.payload.Command) == 0 || strings.Contains(s.payload.Command[0], "/") {
		return
	}
	path, err := exec.LookPath(s.payload.Command[0])
	if err != nil {
		return
	}
	if path, err = filepath.Abs(path); err != nil {
		return
	}
	real := view.Resolve(path)
	in := func(dir string) bool { return view.Within(path, dir) || view.Within(real, dir) }
	if slices.ContainsFunc(s.plan.View.PersonalDirs, in) {
		fmt.Fprintf(os.Stderr, "art: hint: yours is %s, and homes are hidden from the guest: install it for all users, or mount it (\"mounts\" in man art-config)\n", cli.Printable(real))
	}
}
