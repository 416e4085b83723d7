// Package preset has what agents need to run in art, as data: those that come with art (presets/NAME.json), and the
// user's own in his directory of settings, which count more.
package preset

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/seccomp"
)

// Preset is one of them.
type Preset = config.Preset

//go:embed presets/*.json
var embedded embed.FS

// maxFile bounds a preset of the user's, in bytes, and maxFiles how many there are.
const maxFile, maxFiles = 1 << 20, 1000

// Directory returns the directory of the user's own presets, or "" if there is no place for them.
func Directory() string {
	file := config.UserFile(os.Getenv)
	if file == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(file), config.PresetDir)
}

// Is says whether there is a preset of that name. A word of art's is none.
func Is(name string) bool {
	if !config.IsPresetName(name) || flags.IsWord(name) {
		return false
	}
	if _, err := fs.Stat(embedded, path(name)); err == nil {
		return true
	}
	return Own(name)
}

func path(name string) string { return "presets/" + name + ".json" }

// Load returns the preset of that name.
func Load(name string) (*Preset, error) {
	if flags.IsWord(name) || !config.IsPresetName(name) {
		return nil, unknown(name)
	}
	file, text, err := read(name)
	if err != nil {
		return nil, err
	}
	return config.ReadPreset(name, file, os.Getenv("HOME"), text, seccomp.Options)
}

func unknown(name string) error {
	return cli.WithHint(fmt.Errorf("read the preset %q: there is no such preset", name), "art presets lists them; yours go to "+filepath.Join(Directory(), "NAME.json"))
}

// read returns the text of a preset, and how that is called.
func read(name string) (file string, text []byte, err error) {
	if dir := Directory(); dir != "" {
		file = filepath.Join(dir, name+".json")
		if text, err = readOwn(file); text != nil || err != nil {
			return file, text, err
		}
	}
	if text, err = embedded.ReadFile(path(name)); err != nil {
		return "", nil, unknown(name)
	}
	return "preset " + name, text, nil
}

// readOwn returns the text of a file of the user's, or nil if there is none.
func readOwn(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err == nil {
		var f *os.File
		if f, err = os.Open(file); err == nil {
			defer f.Close()
			var text []byte
			if text, err = io.ReadAll(io.LimitReader(f, maxFile+1)); err == nil {
				return text, nil
			}
		}
	}
	return nil, fmt.Errorf("read the preset %s: %w", file, hostfs.Unwrap(err))
}

// Own says whether the preset of that name is the user's.
func Own(name string) bool {
	_, err := os.Stat(filepath.Join(Directory(), name+".json"))
	return err == nil && Directory() != ""
}

// Embedded returns the presets that come with art, sorted by their names.
func Embedded() ([]*Preset, error) {
	entries, err := embedded.ReadDir("presets")
	if err != nil {
		return nil, err
	}
	var presets []*Preset
	for _, entry := range entries {
		text, err := embedded.ReadFile("presets/" + entry.Name())
		if err != nil {
			return nil, err
		}
		p, err := config.ReadPreset(strings.TrimSuffix(entry.Name(), ".json"), entry.Name(), "/home/agent", text, seccomp.Options)
		if err != nil {
			return nil, err
		}
		presets = append(presets, p)
	}
	return presets, nil
}

// Names returns the names of all presets, sorted.
func Names() []string {
	var names []string
	add := func(file string) {
		name, ok := strings.CutSuffix(file, ".json")
		if ok && config.IsPresetName(name) && !slices.Contains(names, name) && !flags.IsWord(name) {
			names = append(names, name)
		}
	}
	entries, _ := embedded.ReadDir("presets") // embedded
	for _, entry := range entries {
		add(entry.Name())
	}
	if dir, err := os.Open(Directory()); err == nil && Directory() != "" {
		defer dir.Close()
		own, _ := dir.Readdirnames(maxFiles)
		for _, file := range own {
			add(file)
		}
	}
	slices.Sort(names)
	return names
}
