package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/riverlytech/art/internal/paths"
)

// hostPath returns the directories of the caller's PATH that do not lie in the workspace: a program there may be a guest's, and
// art runs some by their names on the host.
func hostPath(workspace string) []string {
	workspace = paths.Resolve(workspace)
	return slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		return !filepath.IsAbs(dir) || paths.Within(paths.Resolve(dir), workspace)
	})
}

// hostProgram is exec.LookPath for what runs on the host: it finds nothing that lies in the workspace, nor a link there.
func hostProgram(name, workspace string) (string, error) {
	for _, dir := range hostPath(workspace) {
		path := filepath.Join(dir, name)
		if found, err := exec.LookPath(path); err == nil && !paths.Within(paths.Resolve(found), paths.Resolve(workspace)) {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}
