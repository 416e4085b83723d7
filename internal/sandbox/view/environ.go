package view

import (
	"errors"
	"fmt"
	"strings"

	"github.com/riverlytech/art/internal/dotenv"
)

// Path is the guest's PATH.
const Path = "/usr/local/bin:/usr/bin:/bin"

// Environ returns the guest's environment: the fixed variables, of the caller's
// those that describe its terminal, language and time zone, and what extra names.
// An entry of extra is NAME, which passes the caller's value if there is one, or
// NAME=VALUE; the last one for a name wins, also over a fixed variable.
func Environ(caller, extra []string, workspace string) ([]string, error) {
	var env environment
	env.set("HOME", Home)
	env.set("USER", User)
	env.set("LOGNAME", User)
	env.set("PATH", Path)
	env.set("PWD", workspace)
	env.set("ART_SANDBOX", "1")
	values := map[string]string{}
	for _, kv := range caller {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		values[name] = value
		if passed(name) {
			env.set(name, value)
		}
	}
	err := env.extend(values, extra)
	return env.list, err
}

// Named returns the variables that extra names, as Environ has them.
func Named(caller, extra []string) ([]string, error) {
	values := map[string]string{}
	for _, kv := range caller {
		if name, value, ok := strings.Cut(kv, "="); ok {
			values[name] = value
		}
	}
	var env environment
	err := env.extend(values, extra)
	return env.list, err
}

// extend sets what extra names, given the caller's values.
func (e *environment) extend(values map[string]string, extra []string) error {
	for _, entry := range extra {
		name, value, given := strings.Cut(entry, "=")
		if name == "" || strings.ContainsRune(entry, 0) {
			return fmt.Errorf("set the environment: %q is neither NAME nor NAME=VALUE", entry)
		}
		if !given {
			if value, given = values[name]; !given {
				continue
			}
		}
		if strings.HasPrefix(name, dotenv.PrivateKey) {
			return fmt.Errorf("set the environment: %s opens what is encrypted on the host, and is not for a guest", name)
		}
		if name == "ART_SANDBOX" {
			return errors.New("set the environment: ART_SANDBOX is art's own")
		}
		e.set(name, value)
	}
	return nil
}

func passed(name string) bool {
	switch name {
	case "TERM", "COLORTERM", "LANG", "TZ":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

type environment struct{ list []string }

func (e *environment) set(name, value string) {
	for i, kv := range e.list {
		if strings.HasPrefix(kv, name+"=") {
			e.list[i] = name + "=" + value
			return
		}
	}
	e.list = append(e.list, name+"="+value)
}
