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
		{Name: "leave settings for the next session", Only: Direct, try: func(*Target) error {
			created := os.Mkdir(config, 0o700) == nil
			path := own(config)
			err := made(path, os.WriteFile(path, nil, 0o600))
			if created {
				os.Remove(config)
			}
			return err
		}},
		{Name: "put a directory in the place of the settings", Only: Direct, try: func(*Target) error {
			dir := own(".")
			if err := os.MkdirAll(filepath.Join(dir, "config"), 0o700); err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			return swap(dir)
		}},
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
