package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// ofOwn begins the origin of what a session has of the user's own.
const ofOwn = "own "

// passedOn are the variables that are passed as they are, by the word of the setting "own".
var passedOn = map[string][]string{
	"git": {"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"},
	"proxy": {"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy",
		"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"},
	"locale":   {"LANGUAGE"},
	"terminal": {"COLORFGBG", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "VTE_VERSION", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"},
}

// certificates are variables that name a file or a directory of certificates, which is shown.
var certificates = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
	"AWS_CA_BUNDLE", "PIP_CERT", "CARGO_HTTP_CAINFO", "DENO_CERT"}

// editors are variables that name a program, which the guest has to have.
var editors = []string{"EDITOR", "VISUAL", "GIT_EDITOR", "PAGER"}

// addOwn adds to the settings what they have of the user's own.
func (o *request) addOwn(s *config.Settings) error {
	if len(s.Own) == 0 {
		return nil
	}
	at, err := newPlaces(s.Workspace.Value, s.Mounts)
	if err != nil {
		return err
	}
	var env []config.Entry
	for _, e := range s.Own {
		origin := ofOwn + e.Value
		pass := func(name string) {
			if value, ok := os.LookupEnv(name); ok && value != "" {
				env = append(env, config.Entry{Value: name, Origin: origin})
			}
		}
		for _, name := range passedOn[e.Value] {
			pass(name)
		}
		switch e.Value {
		case "git":
			if o.gitConfig = identityOfGit(s.Workspace.Value); o.gitConfig != "" {
				s.Set = append(s.Set, config.Value{Name: "GIT_CONFIG_SYSTEM", Value: view.GitConfig, Origin: origin})
			}
		case "shell":
			if shell := os.Getenv("SHELL"); filepath.IsAbs(shell) && !refusesLogin(shell) && at.guestHas(shell) {
				pass("SHELL")
			}
		case "editor":
			for _, name := range editors {
				if program, _, _ := strings.Cut(os.Getenv(name), " "); program != "" && at.guestRuns(program) {
					pass(name)
				}
			}
		case "certificates":
			for _, name := range certificates {
				path := os.Getenv(name)
				if _, err := os.Stat(path); err != nil || !filepath.IsAbs(path) {
					continue
				}
				seen := at.showable([]string{path})
				if seen == nil && at.hidden([]string{path}) != nil {
					continue // nobody else's to see
				}
				for _, path := range seen {
					s.See = append(s.See, config.Entry{Value: path, Origin: origin})
				}
				pass(name)
			}
		}
	}
	s.Env = append(env, s.Env...) // what the settings and the command line name counts more
	return nil
}

// guestHas says whether the guest has what the host has at a path.
func (p *places) guestHas(path string) bool {
	_, err := os.Stat(path)
	return err == nil && p.hidden([]string{path}) == nil
}

// guestRuns says whether the guest has a program, which may be looked for in PATH.
func (p *places) guestRuns(program string) bool {
	if filepath.IsAbs(program) {
		return p.guestHas(program)
	}
	return !strings.Contains(program, "/") && slices.ContainsFunc(p.host.System, func(dir string) bool { return p.guestHas(filepath.Join(dir, program)) })
}

// identityOfGit returns a text for git's settings with the user's name and mail address, and nothing else of what he has
// there, or "". Git reads it before all other settings, so that those of a repository, and of the guest, count more. What it
// is asked about is the user's own file: in no directory of a guest's.
func identityOfGit(workspace string) string {
	git, err := hostProgram("git", workspace)
	if err != nil {
		return "" // there is none
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "config", "--global", "--includes", "--null", "--get-regexp", `^user\.(name|email)$`)
	cmd.Dir = "/"
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") || strings.HasPrefix(kv, "GIT_CONFIG_GLOBAL=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	out, err := cmd.Output()
	if err != nil {
		return "" // there is no identity
	}
	values := map[string]string{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		values[strings.TrimPrefix(key, "user.")] = value
	}
	text := ""
	for _, key := range []string{"name", "email"} {
		if value := quoteGit(values[key]); value != "" {
			text += "\t" + key + " = \"" + value + "\"\n"
		}
	}
	if text == "" {
		return ""
	}
	return "# The user's name and mail, and what this host has for everyone.\n[include]\n\tpath = /etc/gitconfig\n[user]\n" + text
}

// quoteGit returns a value as git's settings have it between quotes (git-config(1), Syntax); what does not print is left out.
func quoteGit(s string) string {
	const most = 1000
	var b strings.Builder
	for _, r := range s[:min(len(s), most)] {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= ' ' && r != 0x7f && r != 0xfffd:
			b.WriteRune(r)
		}
	}
	return b.String()
}
