package attack

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// What the next session takes its settings and secrets from: the user's own, and those
// of the workspace, where a guest of direct mode works on the host's files.
func settings() []Attempt {
	return area("settings of the next session", []Attempt{
		{Name: "see the user's settings", Needs: Host, try: func(t *Target) error { return list(t.config) }},
		{Name: "read the user's variables", Needs: Host, try: func(t *Target) error {
			return any([]string{filepath.Join(t.config, ".env"), filepath.Join(t.config, ".env.keys")}, read)
		}},
		{Name: "see what the user trusts", Needs: Host, try: func(t *Target) error { return list(filepath.Join(t.state, "trust")) }},
		{Name: "leave settings of the user's", try: func(t *Target) error { return leave(t.nearConfig) }},
		{Name: "trust a workspace in the user's name", try: func(t *Target) error { return leave(t.nearState) }},
		{Name: "change the mode of the user's settings", try: func(t *Target) error {
			return rechmod(t.nearConfig)
		}},
		{Name: "see what lies beside the workspace's settings", try: func(*Target) error {
			return any(glob(config+"/*", config+"/config/*", config+"/config/.*"), func(path string) error {
				if slices.Contains(shown, path) {
					return errNothing
				}
				return unix.Lstat(path, new(unix.Stat_t))
			})
		}},
		{Name: "change the workspace's settings", Only: Direct, try: func(*Target) error {
			return any(shown, func(path string) error { return openWith(path, unix.O_WRONLY) })
		}},
		{Name: "read the workspace's variables", try: func(*Target) error {
			return any(glob(config+"/config/.env*"), read)
		}},
		{Name: "change the mode of the workspace's settings", Only: Direct, try: func(*Target) error {
			return withSettings(func() error { return rechmod(config) })
		}},
		{Name: "change the times of the workspace's settings", Only: Direct, try: func(*Target) error {
			return withSettings(func() error {
				info, err := os.Stat(config)
				if err != nil {
					return err
				}
				return os.Chtimes(config, info.ModTime(), info.ModTime())
			})
		}},
		{Name: "move the workspace's settings away", Only: Direct, try: func(*Target) error {
			return withSettings(func() error {
				path := own(".")
				if err := os.Rename(config, path); err != nil {
					return err
				}
				return os.Rename(path, config)
			})
		}},
		{Name: "remove the directory of settings", Only: Direct, try: func(*Target) error {
			return withSettings(func() error {
				if err := unix.Rmdir(config); err != unix.ENOTEMPTY {
					return err // of nil, withSettings knows
				}
				return nil // it could have been emptied
			})
		}},
	})
}

// shown is what a guest sees of a workspace's settings: as much as git may track.
var shown = []string{config + "/config", config + "/config/sandbox.json", config + "/config/binds.json"}

// leave makes a file in a directory of the host's, and removes it.
func leave(dir string) error {
	path := own(dir)
	return made(path, os.WriteFile(path, nil, 0o600))
}

// rechmod sets the mode of a directory to what it is.
func rechmod(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Chmod(path, info.Mode())
}

// withSettings makes a directory of settings for an attempt, if the workspace has none.
func withSettings(try func() error) error {
	if err := os.Mkdir(config, 0o700); err == nil {
		defer os.Remove(config)
	}
	return try()
}

// MakeWorkspace makes a directory with settings and variables like a workspace's, for the
// attempts on the host.
func MakeWorkspace(dir string) error {
	dir = filepath.Join(dir, config, "config")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{".env": "NAME=value\n", "sandbox.json": "{}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
