package held

// Row is what one tool runs, or takes its orders from, without being asked.
type Row struct {
	Tool string
	Why  string // what pull says of a file

	// A pattern that holds a slash is about the end of a path, any other about the last name; one that
	// ends in a slash is about everything in such a directory. Each name is matched as in [path.Match],
	// without regard to case (fold.go); "**" is any number of names, at least one.
	Patterns []string

	// Vendored rows count below node_modules and the like too, where what came with a package lies. The
	// other ones are about a project that somebody opens or works in, which these are not.
	Vendored bool

	Source string // where the tool's documentation says so
}

// Table is what pull holds back by its name. art(7) shows it; `go generate ./internal/packaging/man`
// writes it there.
//
// What belongs here runs, or makes a program run something else, because it lies where it lies: when a
// directory is entered or opened, at a commit, at the start of a shell or an interpreter. What does not:
//
//   - The project's own code, also where an editor's language server or linter runs it (build.rs,
//     eslint.config.js, conftest.py, Makefile): it is what the user pulls for, and looks at.
//   - What is told to an agent in words (AGENTS.md, CLAUDE.md, .cursorrules, CONTRIBUTING): it runs
//     nothing by itself, every other file that the agent reads may say the same, and the agent's own
//     permissions stand between. The directories that hold an agent's hooks, commands and servers are
//     held as a whole.
//   - node_modules/.bin and what lies in node_modules: only what the user starts runs it. A virtual
//     environment of Python is different: editors run its interpreter to ask it for its version, and
//     source its activate script in every terminal that they open.
var Table = []Row{
	{"git", "git runs it", []string{".git/hooks/", ".git/modules/**/hooks/", ".git/rebase-merge/", ".git/rebase-apply/", ".git/sequencer/",
		".git/worktrees/*/rebase-merge/", ".git/worktrees/*/rebase-apply/", ".git/worktrees/*/sequencer/",
		".git/modules/**/rebase-merge/", ".git/modules/**/rebase-apply/", ".git/modules/**/sequencer/"}, true,
		"https://git-scm.com/docs/githooks"},
	{"git", "it tells git which programs to run", []string{".git/config", ".git/config.worktree", ".git/worktrees/*/config.worktree",
		".git/modules/**/config", ".git/modules/**/config.worktree", ".git/info/attributes", ".git/modules/**/info/attributes"}, true,
		"https://git-scm.com/docs/git-config"},
	{"git", "it leads git elsewhere", []string{".git", ".git/commondir", ".git/gitdir", ".git/worktrees/*/gitdir", ".git/worktrees/*/commondir",
		".git/modules/**/commondir", ".git/modules/**/gitdir", ".git/objects/info/alternates", ".git/objects/info/http-alternates",
		".git/modules/**/objects/info/alternates", ".git/modules/**/objects/info/http-alternates",
		".git/remotes/", ".git/branches/", ".git/modules/**/remotes/", ".git/modules/**/branches/"}, true,
		"https://git-scm.com/docs/gitrepository-layout"},
	{"Git LFS", "it leads git elsewhere", []string{".lfsconfig"}, false, "https://github.com/git-lfs/git-lfs/blob/main/docs/man/git-lfs-config.adoc"},
	{"Mercurial", "Mercurial runs what it says", []string{".hg/hgrc", ".hg/hgrc-not-shared", ".hg/sharedpath", ".hg/shared"}, true,
		"https://www.mercurial-scm.org/doc/hgrc.5.html"},
	{"Jujutsu", "Jujutsu runs what it says", []string{".jj/repo", ".jj/repo/config.toml", ".jj/workspace-config.toml", ".jj/repo/workspace-config.toml",
		".jj/repo/store/git_target"}, true, "https://docs.jj-vcs.dev/latest/config/"},
	{"Sapling", "Sapling runs what it says", []string{".sl/config", ".sl/sharedpath"}, true, "https://sapling-scm.com/docs/introduction/installation/"},
	{"Pijul", "Pijul runs what it says", []string{".pijul/config"}, true, "https://pijul.org/manual/configuration.html"},
	{"Darcs", "Darcs runs what it says", []string{"_darcs/prefs/defaults"}, true, "https://darcs.net/manual/Configuring_darcs.html"},

	{"pre-commit", "hooks are run from it", []string{".pre-commit-config.yaml", ".pre-commit-config.yml", ".pre-commit-hooks.yaml", "prek.toml"}, false,
		"https://pre-commit.com/#adding-pre-commit-plugins-to-your-project"},
	{"Lefthook", "hooks are run from it", []string{"lefthook.*", ".lefthook.*", "lefthook-local.*", ".lefthook-local.*", ".config/lefthook.*", ".config/lefthook-local.*",
		".lefthook/", ".lefthook-local/"}, false, "https://lefthook.dev/configuration/"},
	{"husky", "git runs it", []string{".husky/", ".huskyrc", ".huskyrc.*", "husky.config.*"}, false, "https://typicode.github.io/husky/"},
	{"lint-staged", "hooks are run from it", []string{".lintstagedrc", ".lintstagedrc.*", "lint-staged.config.*"}, false, "https://github.com/lint-staged/lint-staged#configuration"},
	{"simple-git-hooks", "hooks are run from it", []string{".simple-git-hooks.*", "simple-git-hooks.*"}, false, "https://github.com/toplenboren/simple-git-hooks#additional-configuration-options"},
	{"commitlint", "hooks are run from it", []string{".commitlintrc", ".commitlintrc.*", "commitlint.config.*"}, false, "https://commitlint.js.org/reference/configuration.html"},
	{"Overcommit", "hooks are run from it", []string{".overcommit.yml", ".git-hooks/"}, false, "https://github.com/sds/overcommit#configuration"},
	{"CaptainHook, GrumPHP", "hooks are run from it", []string{"captainhook.json", "grumphp.yml", "grumphp.yml.dist", "grumphp.yaml"}, false, "https://php.captainhook.info/configure.html"},

	{"direnv", "direnv runs it", []string{".envrc", ".direnvrc", ".direnv/"}, false, "https://direnv.net/man/direnv.1.html"},
	{"mise", "mise runs it", []string{"mise.toml", "mise.*.toml", ".mise.toml", ".mise.*.toml", "mise/config.toml", "mise/config.*.toml", ".mise/", "mise-tasks/", ".config/mise.toml",
		".config/mise.*.toml", ".config/mise/", ".rtx.toml", ".rtx.*.toml"}, false, "https://mise.jdx.dev/configuration.html"},
	{"rustup", "it names the programs that cargo and rustc are", []string{"rust-toolchain", "rust-toolchain.toml"}, false, "https://rust-lang.github.io/rustup/overrides.html"},

	{"npm", "a package manager runs what it says", []string{".npmrc", "binding.gyp"}, false, "https://docs.npmjs.com/cli/v11/using-npm/scripts"},
	{"pnpm", "a package manager runs what it says", []string{".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js", "pnpmfile.cjs", "pnpm-workspace.yaml", "package.json5", "package.yaml"}, false,
		"https://pnpm.io/pnpmfile"},
	{"Yarn", "a package manager runs what it says", []string{".yarnrc", ".yarnrc.yml", ".yarn/releases/", ".yarn/plugins/", ".yarn/sdks/", "yarn.config.cjs"}, false,
		"https://yarnpkg.com/configuration/yarnrc"},
	{"Yarn", "node loads it first", []string{".pnp.js", ".pnp.cjs", ".pnp.loader.mjs"}, false, "https://yarnpkg.com/features/pnp"},
	{"Bun", "a package manager runs what it says", []string{"bunfig.toml", ".bunfig.toml"}, false, "https://bun.sh/docs/runtime/bunfig"},
	{"Cargo", "a package manager runs what it says", []string{".cargo/"}, false, "https://doc.rust-lang.org/cargo/reference/config.html"},
	{"Maven", "a package manager runs what it says", []string{".mvn/", "mvnw", "maven-wrapper.properties", "maven-wrapper.jar"}, false, "https://maven.apache.org/configure.html"},
	{"Gradle", "a package manager runs what it says", []string{"gradlew", "gradle-wrapper.properties", "gradle-wrapper.jar"}, false,
		"https://docs.gradle.org/current/userguide/gradle_wrapper.html"},
	{"sbt", "a package manager runs what it says", []string{".sbtopts", ".jvmopts", ".sbtrc", "project/build.properties"}, false,
		"https://www.scala-sbt.org/1.x/docs/Command-Line-Reference.html"},
	{"Bazel", "Bazel runs what it says", []string{".bazelrc", "tools/bazel", "tools/bazel.rc", ".bazeliskrc", ".bazelversion"}, false, "https://bazel.build/run/bazelrc"},
	{"Buck", "Buck runs what it says", []string{".buckconfig", ".buckconfig.local", ".buckconfig.d/", ".buckversion", ".buckjavaargs"}, false, "https://buck2.build/docs/concepts/buckconfig/"},
	{"Pants", "Pants runs what it says", []string{".pants.rc", ".pants.bootstrap"}, false, "https://www.pantsbuild.org/stable/docs/using-pants/key-concepts/options"},
	{"pip", "a package manager runs what it says", []string{"pip.conf", ".pypirc", ".pip/"}, false, "https://pip.pypa.io/en/stable/topics/configuration/"},
	{"Bundler, RubyGems", "a package manager runs what it says", []string{".bundle/config", ".bundle/plugin/", ".gemrc"}, false, "https://bundler.io/man/bundle-config.1.html"},

	{"VS Code", "an editor runs what it says", []string{".vscode/", "*.code-workspace"}, false, "https://code.visualstudio.com/docs/editing/workspaces/workspace-trust"},
	{"dev containers", "an editor runs what it says", []string{".devcontainer/", ".devcontainer.json"}, false, "https://containers.dev/implementors/json_reference/"},
	{"Visual Studio", "an editor runs what it says", []string{".vs/"}, false, "https://learn.microsoft.com/en-us/visualstudio/ide/customize-build-and-debug-tasks-in-visual-studio"},
	{"JetBrains IDEs", "an editor runs what it says", []string{".idea/", ".fleet/", "*.ipr", "*.iws"}, false, "https://www.jetbrains.com/help/idea/project-security.html"},
	{"Eclipse", "an editor runs what it says", []string{".externalToolBuilders/", ".settings/"}, false, "https://help.eclipse.org/latest/topic/org.eclipse.platform.doc.user/concepts/concepts-exttools.htm"},
	{"Vim", "an editor runs what it says", []string{".exrc", "_exrc", ".vimrc", "_vimrc", ".gvimrc", "_gvimrc", ".vim/", ".lvimrc"}, false,
		"https://vimhelp.org/options.txt.html#%27exrc%27"},
	{"Neovim", "an editor runs what it says", []string{".nvim.lua", ".nvimrc", ".config/nvim/"}, false, "https://neovim.io/doc/user/options.html#'exrc'"},
	{"Emacs", "an editor runs what it says", []string{".dir-locals.el", ".dir-locals-2.el", ".emacs", ".emacs.el", ".emacs.d/", ".config/emacs/"}, false,
		"https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html"},
	{"Helix", "an editor runs what it says", []string{".helix/", ".config/helix/"}, false, "https://docs.helix-editor.com/configuration.html"},
	{"Zed", "an editor runs what it says", []string{".zed/"}, false, "https://zed.dev/docs/configuring-zed"},
	{"Sublime Text", "an editor runs what it says", []string{"*.sublime-project", "*.sublime-workspace"}, false, "https://www.sublimetext.com/docs/projects.html"},
	{"Kate", "an editor runs what it says", []string{".kateproject", ".kateproject.*"}, false, "https://docs.kde.org/stable5/en/kate/kate/kate-application-plugin-projects.html"},
	{"Theia", "an editor runs what it says", []string{".theia/"}, false, "https://www.npmjs.com/package/@theia/task"},
	{"YouCompleteMe", "an editor runs it", []string{".ycm_extra_conf.py"}, false, "https://github.com/ycm-core/YouCompleteMe#the-gycm_confirm_extra_conf-option"},
	{"rust-analyzer", "an editor runs what it says", []string{"rust-analyzer.toml", ".rust-analyzer.toml"}, false, "https://rust-analyzer.github.io/book/configuration.html"},

	{"Claude Code", "an agent runs what it says", []string{".claude/", ".mcp.json", ".claude.json"}, false, "https://code.claude.com/docs/en/settings"},
	{"Codex", "an agent runs what it says", []string{".codex/"}, false, "https://developers.openai.com/codex/config-basic"},
	{"Codex, Amp and others", "an agent runs what it says", []string{".agents/", ".agent/"}, false, "https://agentskills.io"},
	{"Gemini CLI", "an agent runs what it says", []string{".gemini/"}, false, "https://geminicli.com/docs/reference/configuration/"},
	{"opencode", "an agent runs what it says", []string{"opencode.json", "opencode.jsonc", ".opencode/"}, false, "https://opencode.ai/docs/config/"},
	{"Cursor", "an agent runs what it says", []string{".cursor/"}, false, "https://cursor.com/docs/agent/hooks"},
	{"GitHub Copilot", "an agent runs what it says", []string{".github/hooks/", ".github/copilot/", ".github/mcp.json", ".copilot/"}, false,
		"https://docs.github.com/en/copilot/reference/hooks-configuration"},
	{"Kiro", "an agent runs what it says", []string{".kiro/"}, false, "https://kiro.dev/docs/cli/hooks/"},
	{"Roo Code, Kilo Code", "an agent runs what it says", []string{".roo/", ".kilocode/"}, false, "https://docs.roocode.com/features/mcp/using-mcp-in-roo"},
	{"Cline", "an agent runs what it says", []string{".clinerules/", ".cline/"}, false, "https://docs.cline.bot/customization/hooks"},
	{"Qwen Code", "an agent runs what it says", []string{".qwen/"}, false, "https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings/"},
	{"Amp", "an agent runs what it says", []string{".amp/"}, false, "https://ampcode.com/manual"},
	{"Factory", "an agent runs what it says", []string{".factory/"}, false, "https://docs.factory.ai/cli/configuration/mcp"},
	{"Junie, AI Assistant", "an agent runs what it says", []string{".junie/", ".aiassistant/"}, false, "https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html"},
	{"Amazon Q", "an agent runs what it says", []string{".amazonq/"}, false, "https://docs.aws.amazon.com/amazonq/latest/qdeveloper-ug/command-line-mcp-configuration.html"},
	{"Crush", "an agent runs what it says", []string{"crush.json", ".crush.json", "crushrc", ".crushrc", ".crush/"}, false, "https://github.com/charmbracelet/crush#configuration"},
	{"aider", "an agent runs what it says", []string{".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json"}, false, "https://aider.chat/docs/config/aider_conf.html"},
	{"Continue", "an agent runs what it says", []string{".continue/", ".continuerc.json"}, false, "https://docs.continue.dev/reference"},
	{"Windsurf", "an agent runs what it says", []string{".windsurf/", ".devin/"}, false, "https://docs.windsurf.com/windsurf/cascade/hooks"},
	{"OpenHands", "an agent runs what it says", []string{".openhands/"}, false, "https://docs.openhands.dev/openhands/usage/customization/repository"},
	{"Goose", "an agent runs what it says", []string{".goose/"}, false, "https://block.github.io/goose/docs/guides/config-files"},
	{"Augment", "an agent runs what it says", []string{".augment/"}, false, "https://docs.augmentcode.com/cli/config"},
	{"Pi", "an agent runs what it says", []string{".pi/"}, false, "https://github.com/earendil-works/pi/blob/main/packages/coding-agent/docs/configuration.md"},
	{"Trae, Tabnine, Warp", "an agent runs what it says", []string{".trae/", ".tabnine/", ".warp/"}, false, "https://docs.trae.ai/ide/model-context-protocol"},

	{"Python", "Python runs it when it starts", []string{"sitecustomize.py", "usercustomize.py", "site-packages/*.pth", "dist-packages/*.pth", "pyvenv.cfg", ".pdbrc", ".pythonrc", ".pythonrc.py", "ipython_config.py", ".ipython/"}, true,
		"https://docs.python.org/3/library/site.html"},
	{"Python", "an editor starts it, or sources it in its terminals", []string{".venv/bin/python*", "venv/bin/python*", "env/bin/python*", ".venv/bin/activate*", "venv/bin/activate*", "env/bin/activate*"}, false,
		"https://code.visualstudio.com/docs/python/environments"},
	{"Ruby", "Ruby runs it when it starts", []string{".irbrc", "_irbrc", ".pryrc", ".byebugrc", ".rdbgrc", ".rdbgrc.rb"}, false, "https://docs.ruby-lang.org/en/master/IRB.html"},
	{"R", "R runs it when it starts", []string{".Rprofile", ".Renviron", ".RData"}, false, "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Startup.html"},
	{"GHC", "GHCi runs it when it starts", []string{".ghci", ".ghc.environment.*", ".haskeline"}, false, "https://downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html"},
	{"OCaml", "OCaml runs it when it starts", []string{".ocamlinit"}, false, "https://ocaml.org/manual/toplevel.html"},
	{"Elixir", "IEx runs it when it starts", []string{".iex.exs"}, false, "https://hexdocs.pm/iex/IEx.html"},
	{"Erlang", "Erlang runs it when it starts", []string{".erlang"}, false, "https://www.erlang.org/doc/apps/erts/erl_cmd.html"},
	{"Octave", "Octave runs it when it starts", []string{".octaverc"}, false, "https://docs.octave.org/latest/Startup-Files.html"},
	{"Perl", "Perl's debugger runs it", []string{".perldb"}, false, "https://perldoc.perl.org/perldebug"},
	{"PHP", "PHP takes its settings from it", []string{".user.ini"}, false, "https://www.php.net/manual/en/configuration.file.per-user.php"},
	{"GDB", "GDB runs it", []string{".gdbinit", ".gdbearlyinit", "*-gdb.gdb", "*-gdb.py", "*-gdb.scm"}, false, "https://sourceware.org/gdb/current/onlinedocs/gdb.html/Auto_002dloading.html"},
	{"LLDB", "LLDB runs it", []string{".lldbinit", ".lldbinit-*"}, false, "https://lldb.llvm.org/man/lldb.html"},

	{"shells", "a shell runs it", []string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
		".cshrc", ".tcshrc", ".login", ".logout", ".kshrc", ".mkshrc", ".inputrc", ".bashrc.d/", ".zshrc.d/", ".oh-my-zsh/", ".zsh/", ".config/fish/", ".config/nushell/", ".config/zsh/", ".config/starship.toml"}, false,
		"https://www.gnu.org/software/bash/manual/html_node/Bash-Startup-Files.html"},
	{"sessions", "it runs when the user logs in", []string{".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".Xclients", ".pam_environment", ".config/autostart/", ".config/autostart-scripts/",
		".config/environment.d/", ".config/plasma-workspace/", ".config/systemd/", ".local/share/systemd/", ".local/share/dbus-1/", ".config/sway/", ".config/i3/", ".i3/", ".config/hypr/",
		".config/awesome/", ".config/openbox/", ".config/bspwm/", ".config/labwc/"}, false, "https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html"},
	{"desktops", "it names the programs that files are opened with", []string{".local/share/applications/", ".config/mimeapps.list", ".mailcap", ".local/share/gnome-shell/extensions/"}, false,
		"https://specifications.freedesktop.org/desktop-entry-spec/latest/"},
	{"the search path", "it lies where commands are looked for", []string{".local/bin/", ".cargo/bin/", ".npm-global/bin/"}, false,
		"https://www.freedesktop.org/software/systemd/man/latest/file-hierarchy.html"},
	{"git", "it tells git which programs to run", []string{".gitconfig", ".config/git/"}, false, "https://git-scm.com/docs/git-config#FILES"},
	{"terminals", "a terminal runs what it says", []string{".tmux.conf", ".config/tmux/", ".screenrc", ".wezterm.lua", ".config/wezterm/", ".config/kitty/", ".config/alacritty/", ".config/ghostty/"}, false,
		"https://man.openbsd.org/tmux.1"},
	{"mail", "mail is handed to what it names", []string{".forward", ".procmailrc", ".fetchmailrc", ".muttrc", ".mutt/", ".config/mutt/", ".config/neomutt/"}, false, "https://www.postfix.org/local.8.html"},
	{"programs of a home", "programs read their secrets or their start from it", []string{".netrc", ".ssh/", ".gnupg/", ".rhosts", ".shosts", ".k5login", ".docker/config.json", ".kube/config", ".aws/config",
		".terraformrc", ".psqlrc", ".my.cnf", ".sqliterc", ".hgrc", ".config/hg/", ".jjconfig.toml", ".config/jj/", ".config/direnv/", ".config/gh/", ".config/go/", ".config/pip/", ".config/containers/",
		".config/Code/", ".tclshrc", ".wishrc", ".guile", ".sbclrc", ".asdfrc"}, false, "https://specifications.freedesktop.org/basedir-spec/latest/"},
	{"art", "art reads its configuration from it", []string{".art/", ".config/art/"}, true, "art-config(5)"},
}
