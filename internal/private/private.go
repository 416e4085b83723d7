// Package private knows files and directories of a user's by their names: those with what lets somebody in elsewhere, and
// what he keeps to himself. It is the one list of them: what shows or copies something of the user's own to a guest asks
// here first, with the name that was given, and with where links lead from there.
package private

import (
	"path/filepath"
	"slices"
	"strings"
)

// names are paths in a home, which count wherever they are: a home may be one that nobody knows to be one.
var names = strings.Fields(`
	.ssh .gnupg .pki .password-store .netrc .authinfo .authinfo.gpg .git-credentials .pgpass .my.cnf .aws .azure .boto .s3cfg
	.kube .docker .oci .terraform.d .vault-token .npmrc .yarnrc.yml .pypirc .gem/credentials .cargo/credentials .cargo/credentials.toml
	.m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .nuget/NuGet/NuGet.Config .composer/auth.json
	.config/gcloud .config/gh .config/glab-cli .config/hub .config/git/credentials .config/op .config/sops .config/rclone .config/containers .config/doctl
	.config/google-chrome .config/chromium .config/BraveSoftware .mozilla .thunderbird .config/Signal .config/Slack
	.local/share/keyrings .local/share/kwalletd .electrum .bitcoin .ethereum
	.claude/.credentials.json .claude.json .codex/auth.json .gemini/oauth_creds.json .local/share/opencode/auth.json .aider.conf.yml
	.bash_history .zsh_history .python_history .node_repl_history .viminfo .lesshst .history .local/share/fish/fish_history`)

// logins are names that many programs give to the file with their login. Other things have them too, such as a part of a
// program that is about credentials.
var logins = strings.Fields(`
	auth.json credentials credentials.json .credentials.json oauth_creds.json mcp-oauth-tokens.json hosts.yml gcloud keyrings`)

// Names returns the paths that are private in a home.
func Names() []string { return slices.Clone(names) }

// Of returns the private one of these that a path is or lies in, or "". The path may be of a home, or of the host.
func Of(path string) string { return in(path, names) }

// Login is like Of, and knows names too that are not always those of something private: for a path that is named or copied
// by itself, not for all that is found in a tree.
func Login(path string) string {
	if found := Of(path); found != "" {
		return found
	}
	return in(path, logins)
}

func in(path string, list []string) string {
	for at := filepath.Clean(path); at != "." && at != "/"; at = filepath.Dir(at) {
		if slices.ContainsFunc(list, func(name string) bool { return at == name || strings.HasSuffix(at, "/"+name) }) {
			return at
		}
	}
	return ""
}
