package sandbox

import (
	"slices"
	"testing"

	"github.com/riverlytech/art/internal/config"
)

func TestSecrets(t *testing.T) {
	env := []string{
		"HOME=/home/agent", "PWD=/home/agent/ws", "PATH=/usr/bin", "LANG=C.UTF-8", "ART_SANDBOX=1", "TERM=xterm", "COLOR=blue",
		"GIT_AUTHOR_NAME=Alice", "API_URL=https://example.org/", "KEYMAP=de", "COMPASS=north",
		"GITHUB_TOKEN=a", "aws_secret_access_key=b", "API_KEYS=c", "PGPASSWORD=d", "DATABASE_URL=postgres://u:e@h/", "NPM_AUTH=f", "FROM_FILE=g",
	}
	got := secrets(env, []config.Value{{Name: "FROM_FILE", Value: "what the caller has in its place"}, {Name: "NOT_PASSED", Value: "x"}})
	if want := []string{"a", "b", "c", "d", "postgres://u:e@h/", "f", "g"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
