package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/paths"
)

// PresetDir is the directory of the user's own presets beside his settings, and agentsDir that of his agents.
const PresetDir, agentsDir = "presets", "agents"

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

// HomesDir returns the directory of the guests' homes, given the environment, or "" if there is no place for it.
func HomesDir(getenv func(string) string) string {
	for _, dir := range homesDirs(getenv) {
		return dir
	}
	return ""
}

// UserDirs returns all directories where the user's settings, and what art remembers for
// him, may be: another session may have another environment.
func UserDirs(getenv func(string) string) []string {
	return slices.Concat(configDirs(getenv), stateDirs(getenv), homesDirs(getenv), databaseDirs(getenv))
}

// databaseDirs returns the directory that the user's settings name for databases, if they do. What else
// they say, and whether it makes sense, is not looked at.
func databaseDirs(getenv func(string) string) []string {
	file := UserFile(getenv)
	if file == "" {
		return nil
	}
	text, err := readIfThere(file)
	if text == nil || err != nil {
		return nil
	}
	root, err := parse(file, text)
	if err != nil {
		return nil
	}
	var dir Entry
	n := root.member("db")
	if n == nil || (&source{name: file, home: getenv("HOME"), user: true}).place(&dir)(n) != nil {
		return nil
	}
	return []string{dir.Value}
}

// DatabaseDir returns the directory of the databases that are kept for workspaces, given the environment and
// what the user's settings say, or "" if there is no place for one.
func DatabaseDir(getenv func(string) string, user *Settings) string {
	if user.Databases.Value != "" {
		return user.Databases.Value
	}
	return StateDir(getenv)
}

func configDirs(getenv func(string) string) []string {
	return own(getenv, "XDG_CONFIG_HOME", ".config")
}

func stateDirs(getenv func(string) string) []string {
	return own(getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"))
}

func dataDirs(getenv func(string) string) []string {
	return own(getenv, "XDG_DATA_HOME", filepath.Join(".local", "share"))
}

func homesDirs(getenv func(string) string) (dirs []string) {
	for _, dir := range dataDirs(getenv) {
		dirs = append(dirs, filepath.Join(dir, "homes"))
	}
	return dirs
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

// UserPlaces returns where all that is: the directories, where each symbolic link on the
// way to them and to the files of settings is, and where that ends. Who can write one of
// these decides what the user's settings are.
func UserPlaces(getenv func(string) string) (all []string) {
	for _, dir := range UserDirs(getenv) {
		all = append(append(all, dir), places(dir)...)
	}
	for _, file := range userLinks(getenv) {
		all = append(all, places(file)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// UserHidden returns what of that no guest is to see: the directories, and the files that
// links in them lead to.
func UserHidden(getenv func(string) string) []string {
	return append(UserDirs(getenv), userLinks(getenv)...)
}

// AgentsHidden returns where workspaces of the user's agents are, which no other guest is to see, but for what holds one of the
// paths that a session uses, which have no links.
func AgentsHidden(getenv func(string) string, used ...string) (dirs []string) {
	free := func(dir string) bool {
		real := resolved(dir)
		return !slices.ContainsFunc(used, func(path string) bool { return paths.Within(path, real) || paths.Within(path, dir) })
	}
	for _, data := range dataDirs(getenv) {
		if dir := filepath.Join(data, agentsDir); free(dir) {
			dirs = append(dirs, dir)
			continue
		}
		for _, agent := range namesIn(data, agentsDir) {
			if dir := filepath.Join(data, agent); free(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// userLinks returns those of the user's files that are symbolic links.
func userLinks(getenv func(string) string) (files []string) {
	for _, dir := range configDirs(getenv) {
		names := []string{"sandbox.json", ".env", ".env.keys", PresetDir, agentsDir}
		names = append(names, namesIn(dir, PresetDir)...)
		for _, agent := range namesIn(dir, agentsDir) {
			names = append(names, agent, filepath.Join(agent, "sandbox.json"), filepath.Join(agent, ".env"), filepath.Join(agent, ".env.keys"))
		}
		for _, name := range names {
			file := filepath.Join(dir, name)
			if _, err := os.Readlink(file); err == nil {
				files = append(files, file)
			}
		}
	}
	return files
}

// namesIn returns what a directory of the user's has, each after its name.
func namesIn(parent, dir string) (names []string) {
	entries, _ := os.ReadDir(filepath.Join(parent, dir)) // there may be none
	for _, entry := range entries {
		names = append(names, filepath.Join(dir, entry.Name()))
	}
	return names
}

// maxLinks is how many links the kernel follows (path_resolution(7)).
const maxLinks = 40

// places returns where each symbolic link on the way to path is, and last where path
// itself is.
func places(path string) (list []string) {
	at, rest := "/", strings.Split(filepath.Clean(path), "/")
	for len(rest) > 0 {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err != nil || len(list) > maxLinks {
			at = next
			continue
		}
		list = append(list, next)
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return append(list, at)
}
