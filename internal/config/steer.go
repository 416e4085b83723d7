package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// A workspace that nobody trusts may set variables, and show its own files elsewhere. But
// what the user starts, with secrets of his, is not to be something else because of it:
// neither another program, nor one that loads other code, or that talks to somebody else.

// steering are the variables that decide that: of the loader, of shells, interpreters and
// build tools, of programs that start others, of certificates, proxies and addresses
// (ld.so(8), sudo's env_delete, the manuals of the rest). An asterisk stands for any text. No
// such list is complete: what a program takes from a variable of another name is the workspace's to say.
var steering = strings.Fields(`
	PATH HOME SHELL TERMCAP TERMINFO* TERMPATH
	LD_* GLIBC_TUNABLES GCONV_PATH NLSPATH LOCPATH HOSTALIASES LOCALDOMAIN RES_OPTIONS MALLOC_*
	ENV BASH_* BASHOPTS SHELLOPTS GLOBIGNORE IFS CDPATH PS4 PROMPT_COMMAND FPATH ZDOTDIR NULLCMD READNULLCMD
	EDITOR VISUAL *PAGER BROWSER LESSOPEN LESSCLOSE *ASKPASS XDG_*
	PYTHON* PIP_* UV_* VIRTUAL_ENV PERL* RUBY* GEM_* BUNDLE_* NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS
	NODE_TLS_REJECT_UNAUTHORIZED NPM_CONFIG_* YARN_* BUN_* DENO_* PHPRC PHP_INI_SCAN_DIR LUA_* R_*
	*JAVA_OPTIONS JAVA_TOOL_OPTIONS JAVA_HOME CLASSPATH *_OPTS GOFLAGS GOPROXY GOTOOLCHAIN GOROOT GOPATH GOENV
	GOBIN GONOSUMDB GOSUMDB GOINSECURE CARGO* RUSTC* RUSTFLAGS RUSTUP_* CC CXX LD AR MAKEFLAGS MAKEFILES
	GIT_* SSH_* SSL_* CURL_* REQUESTS_CA_BUNDLE *_CA_BUNDLE *_CERT_FILE
	OPENSSL_* VIM VIMINIT VIMRUNTIME GVIMINIT EXINIT NVIM_* EMACS* COMPILER_PATH GCC_* LIBRARY_PATH CPATH C_INCLUDE_PATH
	CPLUS_INCLUDE_PATH CFLAGS CXXFLAGS CPPFLAGS LDFLAGS PKG_CONFIG* CMAKE_* PS0 PS1 PS2 PROMPT* INPUTRC LESS* WGETRC PSQL*
	VOLTA_* FNM_* SDKMAN_* GHCUP_* PIPX_* N_PREFIX *_BIN_PATH *_BINARY_PATH *_EXECUTABLE_PATH
	SANDBOX IS_SANDBOX CODEX_* GEMINI_CLI_* OPENCODE_* AIDER_* MSWEA_* *_CUSTOM_HEADERS *_API_HOST *_TEST_CMD *_LINT_CMD
	HGRCPATH SVN_SSH RSYNC_* GNUPGHOME NETRC KUBECONFIG TF_CLI_* RIPGREP_CONFIG_PATH FZF_* BAT_* *_CONFIG_FILE *_CONFIG_PATH
	DOTNET_* CORECLR_* ELECTRON_* GTK_* QT_* GIO_* GST_* GOCACHEPROG GOAUTH GODEBUG MAVEN_* MVNW_* GRADLE_* COREPACK_*
	ERL_* ELIXIR_* JULIA_* GUILE_* OCAML* CAML_* MONO_* LEIN_* NVM_* PYENV_* RBENV_* ASDF_* MISE_* DIRENV_* NIX_* OPAM*
	TAR_OPTIONS JJ_CONFIG CONFIG_SITE AWKPATH TCLLIBPATH GREP_OPTIONS PNPM_* CONDA_* POETRY_* *_PRELOAD *_STARTUP_HOOKS *_PLUGIN_PATH *_MODULE_PATH *_LOAD_PATH *_BEDROCK_URL
	*_PROXY BASE_URL *_BASE_URL *API_BASE *_API_URL *ENDPOINT* DOCKER_HOST OLLAMA_HOST *CONFIG_DIR CLAUDE_CODE_*`)

// steers says whether a variable is one of these. Some programs take them in either case.
func steers(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(steering, func(pattern string) bool {
		ok, _ := filepath.Match(pattern, name) // they are all well formed
		return ok
	})
}

// systemDirs are where the programs of the host are, and what they are set up by.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix", "/snap", "/var",
	"/home", "/root"}

// homeDirs are directories of a home that programs look into without being told, beside those whose names begin with a dot:
// shells and Go for programs (bash's skel.profile, `go help install`), Node.js for modules, which it looks for in all
// directories above a script (https://nodejs.org/api/modules.html).
var homeDirs = []string{"bin", "go", "node_modules"}

// AskPlace returns what a workspace of that name asks for by the place alone that it has in the guest's home, or nil: who
// clones a repository may not have chosen its name.
func AskPlace(name, workspace string) *Ask {
	if !covers(filepath.Join(view.Home, name)) {
		return nil
	}
	return &Ask{Setting{"name", name, workspace, strconv.Quote(name)}, fmt.Sprintf("a workspace at ~/%s", name)}
}

// covers says whether a mount at a place in the guest takes the place of a program, or of
// what one is set up by, in the system, where the host has something, or in a home.
func covers(guest string) bool {
	if rest, ok := strings.CutPrefix(guest, view.Home+"/"); ok {
		first, _, _ := strings.Cut(rest, "/")
		return strings.HasPrefix(first, ".") || slices.Contains(homeDirs, first)
	}
	if _, err := os.Lstat(guest); err == nil {
		return true
	}
	return slices.ContainsFunc(systemDirs, func(dir string) bool {
		return paths.Within(guest, dir) || paths.Within(paths.Resolve(guest), paths.Resolve(dir)) || paths.Within(dir, guest)
	})
}
