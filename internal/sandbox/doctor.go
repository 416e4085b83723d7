package sandbox

import (
	"fmt"
	"os"
	"slices"

	"github.com/riverlytech/art/internal/cli"
)

// Allowed returns what the settings of the session that o asks for allow its guest
// beyond the default: options of package seccomp, and "network host". It is an error if
// there could be no such session.
func Allowed(options *Options) ([]string, error) {
	o := &request{Options: *options}
	s, root, err := loadSettings(o)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := checkLimits(o, s.Limits); err != nil {
		return nil, err
	}
	allowed := slices.Clone(values(s.Allow))
	if s.Network.Value == "host" {
		allowed = append(allowed, "network host")
	}
	return allowed, nil
}

// TrialWorkspace makes an empty workspace for trials where nobody would start a session. It is the caller's to name in the
// options and to remove. Elsewhere it returns "".
func TrialWorkspace(options *Options) (string, error) {
	user, err := readUser()
	if err != nil {
		return "", nil // the trial tells
	}
	if (&request{Options: *options, user: user}).refuseHome() == nil {
		return "", nil
	}
	dir, err := os.MkdirTemp("", "art-doctor-")
	if err != nil {
		return "", fmt.Errorf("make a workspace for trials: %w", cli.Reason(err))
	}
	return dir, nil
}
