package sandbox

import (
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/config"
)

// secretWords are words in the names of variables that hold what is not for everyone.
var secretWords = []string{"AUTH", "COOKIE", "CREDS", "DSN", "JWT", "PASS", "PAT", "PIN", "PW", "PWD", "SESSION", "WEBHOOK"}

// secretEnds end such words, also in the plural.
var secretEnds = []string{"CREDENTIAL", "KEY", "PASSPHRASE", "PASSWD", "PASSWORD", "SECRET", "TOKEN"}

// secrets returns the values in the guest's environment that a trace is to keep to
// itself: of variables from a .env, and of those that look like it.
func secrets(env []string, fromFiles []config.Value) []string {
	var values []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if looksSecret(name, value) || slices.ContainsFunc(fromFiles, func(v config.Value) bool { return v.Name == name }) {
			values = append(values, value)
		}
	}
	return values
}

func looksSecret(name, value string) bool {
	if name == "PWD" {
		return false // the guest's working directory
	}
	words := strings.Split(strings.ToUpper(name), "_")
	for _, word := range words {
		if slices.Contains(secretWords, word) {
			return true
		}
		word = strings.TrimSuffix(word, "S")
		if slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(word, end) }) {
			return true
		}
	}
	// An address may have a password before the host.
	last := words[len(words)-1]
	return (last == "URL" || last == "URI") && strings.Contains(value, "@")
}
