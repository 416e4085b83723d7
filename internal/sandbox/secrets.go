package sandbox

import (
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/config"
)

// secretWords are in the names of variables that hold what is not for everyone.
var secretWords = []string{
	"AUTH", "COOKIE", "CREDENTIAL", "PASSPHRASE", "PASSWD", "PASSWORD", "PRIVATE", "SECRET", "SESSION", "TOKEN", "WEBHOOK",
}

// secretEnds end such names.
var secretEnds = []string{"KEY", "KEYS", "PASS", "PAT", "PIN", "PWD", "DSN", "_URL", "_URI"}

// secrets returns the values in the guest's environment that a trace is to keep to
// itself: of variables from a .env, and of those whose names look like it.
func secrets(env []string, fromFiles []config.Value) []string {
	var values []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if secretName(name) || slices.ContainsFunc(fromFiles, func(v config.Value) bool { return v.Name == name }) {
			values = append(values, value)
		}
	}
	return values
}

func secretName(name string) bool {
	if name == "PWD" {
		return false // the guest's working directory, as a shell sets it
	}
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) }) ||
		slices.ContainsFunc(secretEnds, func(e string) bool { return strings.HasSuffix(name, e) })
}
