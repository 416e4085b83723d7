package config

// Entry is one thing that was said, and where.
type Entry struct{ Value, Origin string }

// OwnWords are what a guest can have of the user's own: name and mail for git, the shell, the variables of proxies and of
// certificates with the files that these name, the editor, languages, and what a terminal can do.
var OwnWords = []string{"certificates", "editor", "git", "locale", "proxy", "shell", "terminal"}

// Settings are what one file says, or several together. What is not said is the
// zero value.
type Settings struct {
	// Network is "host", "none" or [NetworkNames].
	Network Entry
	// NetAllow and NetDeny are the rules of the latter (package netrule).
	NetAllow, NetDeny []Entry
	// NetLocal are those of NetAllow that may be at addresses of local networks.
	NetLocal []Entry
	// Publish are ports of the guest's that are reached on the host ([Port]).
	Publish []Entry
	// NetAsk is "true" where the user is asked about what no rule allows.
	NetAsk Entry
	// Secrets are variables whose values the guest does not have.
	Secrets []Secret
	// SSH is what the guest may log in to, with the keys of the user's agent.
	SSH SSH
	// Path is "home", or "host" for the workspace at its own path too.
	Path Entry
	// Systemd is "true" where sessions in the background are units of systemd. Only the user's file has it.
	Systemd Entry
	// Commands is "true" where sessions learn which commands they run. Only the user's file has it.
	Commands Entry
	// Replicate is the URL of the place below which databases are copied while sessions write them. Only the user's file has it.
	Replicate Entry
	// Flatten is "true" where a database that is replicated is made self-contained first. Only the user's file has it.
	Flatten Entry
	// Notify is "true" or "false", or the command that notifies the user. Only the user's file has it.
	Notify Entry
	// End says what becomes of what the command leaves running: "kill", "wait" or "ask".
	End Entry
	// Checkpoints is "auto", "off" for sessions that make none by themselves, or how often they do ("5m0s").
	Checkpoints Entry
	// GuestCheckpoints is "true" or "false": whether the guest can ask for checkpoints.
	GuestCheckpoints Entry
	// Keep is how much history stays, by name: "checkpoints", "days", "size". Only the user's file has it.
	Keep map[string]Limit
	// Env are names of variables of the caller's to pass on.
	Env []Entry
	// Values are variables from the .env beside the file. The caller's own value
	// counts more, where Env names it.
	Values []Value
	// Hide are absolute paths or patterns (filepath.Match) of the host.
	Hide []Entry
	// Allow are options of package seccomp.
	Allow []Entry
	// Mounts are further paths for the guest.
	Mounts []Mount
	// See are absolute paths of the host to show at their own places, for reading, where they are hidden.
	See []Entry
	// Tools are names of what is installed in a home (package toolchain), or directories of programs.
	Tools []Entry
	// Own are words for what the guest has of the user's own ([OwnWords]).
	Own []Entry
	// Set are variables with values that are no secrets; Values count more.
	Set []Value
	// Limits are by name (see limits.go).
	Limits map[string]Limit
	// Workspace is the directory to take for the workspace if none is named. Only
	// the user's file has it.
	Workspace Entry
	// Mode is "direct" or "overlay": what a session is that names no database. Only the
	// user's file has it.
	Mode Entry
	// Databases is the directory of the databases that are kept for workspaces. Only the
	// user's file has it.
	Databases Entry
	// Agent is the name of the agent of the user's own whose settings these are too, and its file.
	Agent Entry
	// Home is the name of the guest's home, if that is to be one that sessions share. Only the user's file has it.
	Home Entry
	// Preset is what a preset says besides, to be shown.
	Preset []Setting
	// Files are those that these settings of a workspace come from.
	Files []File
	// Content stands for the text of the files that these settings of a workspace come
	// from, and for those of its variables that need trust, or is "" if there are none.
	Content string
}
