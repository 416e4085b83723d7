package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/riverlytech/art/internal/dotenv"
)

// EnvFile is the path of the workspace's variables within the workspace, and
// KeysFile that of the key that opens the encrypted ones among them.
const (
	EnvFile  = ".art/config/.env"
	KeysFile = EnvFile + ".keys"
)

// ownPrefix begins the names of art's own variables: its flags are some of them.
const ownPrefix = "ART_"

// Value is a variable for the guest, with its value.
type Value struct {
	Name, Value, Origin string
	// Opened says that it was encrypted, and that the caller's key has opened it, which does not lie beside the file. What
	// else that key opens, whoever wrote the file may have copied from there.
	Opened bool
}

// readValues reads a file of variables, and the one with its key where the caller's
// environment has none. read returns the text of a file, or nil if there is none.
func readValues(file, keysFile string, read func(string) ([]byte, error)) ([]Value, error) {
	text, err := read(file)
	if text == nil || err != nil {
		return nil, err
	}
	vars, err := dotenv.Parse(file, string(text))
	if err != nil {
		return nil, err
	}
	keys, opened := os.Getenv(dotenv.PrivateKey), map[int]bool{}
	if dotenv.Encrypted(vars) {
		own, err := readKeys(keysFile, read)
		if err != nil {
			return nil, err
		}
		if keys == "" {
			keys = own
		}
		for _, v := range vars {
			opened[v.Line] = !dotenv.Opens(v, own)
		}
	}
	if vars, err = dotenv.Decrypt(file, vars, keys); err != nil {
		return nil, err
	}
	var values []Value
	for _, v := range vars {
		if strings.HasPrefix(v.Name, ownPrefix) {
			return nil, fmt.Errorf("%s:%d: %s is a variable of art's own: its flags are environment variables", file, v.Line, v.Name)
		}
		values = append(values, Value{v.Name, v.Value, fmt.Sprintf("%s:%d", file, v.Line), opened[v.Line]})
	}
	return values, nil
}

func readKeys(file string, read func(string) ([]byte, error)) (string, error) {
	text, err := read(file)
	if err != nil {
		return "", err
	}
	vars, err := dotenv.Parse(file, string(text))
	keys := ""
	for _, v := range vars {
		if v.Name == dotenv.PrivateKey {
			keys = v.Value
		}
	}
	return keys, err
}

// workspaceValues reads the variables of the workspace that is open as root.
func workspaceValues(root *os.File) ([]Value, error) {
	return readValues(filepath.Join(root.Name(), EnvFile), filepath.Join(root.Name(), KeysFile), func(file string) ([]byte, error) {
		path, err := filepath.Rel(root.Name(), file)
		if err != nil {
			return nil, err
		}
		return readTrusted(root, path)
	})
}

// userValues reads the variables beside the user's settings.
func userValues(settings string) ([]Value, error) {
	file := filepath.Join(filepath.Dir(settings), ".env")
	return readValues(file, file+".keys", readIfThere)
}

// readIfThere returns the text of a regular file, or nil if there is none.
func readIfThere(file string) ([]byte, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the user's settings: %w", err)
	}
	defer f.Close()
	return readBounded(f)
}
