package config

import "path/filepath"

// UserFile returns the path of the user's settings, given the environment, or ""
// if there is no place for them.
func UserFile(getenv func(string) string) string {
	for _, dir := range configDirs(getenv) {
		return filepath.Join(dir, "sandbox.json")
	}
	return ""
}

// StateDir returns the directory of what art remembers for the user, given the
// environment, or "" if there is no place for it.
func StateDir(getenv func(string) string) string {
	for _, dir := range stateDirs(getenv) {
		return dir
	}
	return ""
}

// UserDirs returns all directories where the user's settings, and what art remembers for
// him, may be: another session may have another environment.
func UserDirs(getenv func(string) string) []string {
	return append(configDirs(getenv), stateDirs(getenv)...)
}

func configDirs(getenv func(string) string) []string {
	return own(getenv, "XDG_CONFIG_HOME", ".config")
}

func stateDirs(getenv func(string) string) []string {
	return own(getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"))
}

// own returns art's own directories, the one that counts first: in the one that a
// variable names, and in the home directory (XDG Base Directory Specification: a relative
// path is to be ignored).
func own(getenv func(string) string, variable, inHome string) (dirs []string) {
	for _, dir := range []string{getenv(variable), filepath.Join(getenv("HOME"), inHome)} {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, filepath.Join(dir, "art"))
		}
	}
	return dirs
}
