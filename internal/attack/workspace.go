package attack

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// config is the directory of a workspace that the next session reads.
const config = ".art"

// In overlay mode these change nothing but the database.
func workspace() []Attempt {
	return area("the workspace", []Attempt{
		{Name: "leave settings for the next session", Only: Direct, try: leaveSettings},
		{Name: "leave settings by the workspace's other path", Only: Direct, try: elsewhere(leaveSettings)},
		{Name: "put a directory in the place of the settings", Only: Direct, try: replaceSettings},
		{Name: "put a directory there by the workspace's other path", Only: Direct, try: elsewhere(replaceSettings)},
		{Name: "put a link in the place of the settings", Only: Direct, try: func(*Target) error {
			link := own(".")
			if err := os.Symlink("elsewhere", link); err != nil {
				return err
			}
			defer os.Remove(link)
			return swap(link)
		}},
	})
}

func leaveSettings(*Target) error {
	created := os.Mkdir(config, 0o700) == nil
	path := own(config)
	err := made(path, os.WriteFile(path, nil, 0o600))
	if created {
		os.Remove(config)
	}
	return err
}

func replaceSettings(*Target) error {
	dir := own(".")
	if err := os.MkdirAll(filepath.Join(dir, "config"), 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return swap(dir)
}

// elsewhere makes an attempt in the workspace by its path in the home, where the session has begun at its path on the
// host. Where there is one path, it is made there.
func elsewhere(try func(*Target) error) func(*Target) error {
	return func(t *Target) error {
		here, err := os.Getwd()
		if err != nil {
			return err
		}
		other := filepath.Join(os.Getenv("HOME"), filepath.Base(here))
		if os.Chdir(other) == nil && !sameDir(here, ".") {
			if err := os.Chdir(here); err != nil {
				return err
			}
		}
		return try(t)
	}
}

func sameDir(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// swap exchanges path with the settings, or moves it there if there are none, and back.
func swap(path string) error {
	flags := uint(unix.RENAME_EXCHANGE)
	if _, err := os.Lstat(config); err != nil {
		flags = unix.RENAME_NOREPLACE
	}
	if err := unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, config, flags); err != nil {
		return err
	}
	if flags == unix.RENAME_NOREPLACE {
		return os.Rename(config, path)
	}
	return unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, config, flags)
}
