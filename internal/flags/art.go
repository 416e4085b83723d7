package flags

import "slices"

// Art is art, and Run is `art run`, the same but for the mode.
var (
	Art = &Command{
		Name: "art", Says: "run a program that sees this machine and can change only its workspace",
		Synopsis: []string{"run [flags] [--] [command...]", "claude | codex | gemini | opencode | aider | mini [argument...]", "COMMAND [flags] [argument...]", "[flags] [--] [command...]"},
		Payload:  true, Exits: AsGuest, Env: true,
		Text: `  art runs a command, or a shell, as the user agent in a sandbox. It can use every
  tool that is installed here, read-only. /home/agent is its home, and
  /home/agent/NAME is the workspace, NAME being the name of the host directory.

  With run, the workspace is read from the host, and everything the command writes in
  /home/agent goes into an SQLite database that art keeps for the workspace; the host
  does not change. diff shows what the command changed, and pull brings that to the
  host. In a directory below a workspace, all of these mean that workspace.

  With claude, or another agent that art has a preset of, it is "art run" with what
  that agent needs: art finds it in your home, too, and passes the variables with its
  key. So it is with an agent of your own ("art agent new").

  With --db, the same goes for the database DB. With neither, the command works on the
  host directory itself, and the rest of its home is gone afterwards.
`,
		Flags: slices.Concat(session, []Flag{version, mode}),
		Notes: `FILES
  DIR/.art/config/sandbox.json, DIR/.art/config/binds.json
      What a workspace asks for: settings, and paths for the command to see.
  $XDG_CONFIG_HOME/art/sandbox.json
      Your settings. "art config" shows what comes of all of them, and man art-config
      tells what can be set.
  $XDG_CONFIG_HOME/art/presets, $XDG_CONFIG_HOME/art/agents
      Presets, and agents, of your own.
  $XDG_STATE_HOME/art, $XDG_DATA_HOME/art
      The databases of workspaces, and what "art trust" remembers; homes, and the
      workspaces of agents of your own.

EXIT STATUS
  The command's; 128+N if signal N ended it; 127 if it was not found; 126 if it
  cannot be executed; 125 if art itself failed.

EXAMPLES
  An agent in the current directory, what it changed, and back to the host with it:
      art claude
      art diff
      art pull

  A shell in the current directory, as it is:
      art

  One command, its output into a file, no network, the changes in a file:
      art -i=false --network none -m project -d work.db -- make test >log
      art diff -m project -d work.db
`,
	}
	Run = &Command{
		Name: "art run", Says: "run a command whose changes stay apart", Synopsis: []string{"[flags] [--] [command...]"}, Payload: true, Exits: AsGuest, Env: true,
		Flags: slices.Concat(session, []Flag{version}),
		Notes: `EXAMPLES
  art run make test
  art run --network none -- sh
`,
	}
)

var mode = Flag{Name: "mode", Arg: "MODE", Choices: "direct overlay", Default: "direct; run is overlay",
	Says: `"direct" or "overlay", where no database is named`, More: "Your settings can say otherwise."}

// session are the flags of a session.
var session = []Flag{
	{Name: "mount", Short: "m", Arg: "DIR", Offer: Directories, Default: "the current directory", Says: "the workspace, a directory of the host",
		More: "The settings of the user can name another one."},
	{Name: "db", Short: "d", Arg: "DB", Offer: Files, Says: `the database that takes what is written, or the URL of its copy; "art run" has one for each workspace`,
		More: "It is made, readable by its owner alone, if it is not there. One session at a time may use it. A URL as of --replicate is that of its copy: the database is brought back from there, as far as it is not here, and replicated there."},
	{Name: "name", Arg: "NAME", Default: "as the directory", Says: "what the workspace is called in the guest and in the database"},
	{Name: "home", Arg: "NAME", Offer: Homes, Default: "that of the preset", Says: "a home that sessions in other workspaces share: logins, settings and caches",
		More: `It is kept on the host, and made if there is none, in either mode. An empty "NAME" is no such home. Sessions in other workspaces, and several at a time, share it: what is in it stays out of the databases of workspaces. Of a database, only the workspace shows in it. What belongs to the workspace is not shared. Nobody but the caller can get at a home, and no set-user-ID program can be made there. In place of what is mounted in one session, the others have a file or directory that cannot be written, and that "rm -r" leaves there; one that removes it all the same, or renames it, takes the mount away from the first.`},
	{Name: "agent", Arg: "NAME", Offer: Agents, Says: `an agent of your own; "art NAME" takes it, too`},
	{Name: "adopt", Says: "the workspace was moved here", More: adoptMore},
	{Name: "interactive", Short: "i", Arg: "BOOL", Switch: true, Default: "true", Says: "a terminal for the command, if there is one",
		More: `False connects it with pipes, which art does by itself where there is no terminal. On a terminal the command is a job of it: where Ctrl-Z, or the command itself, stops it, art stops with the rest of its own job, and "fg" continues all of it. In the background of a shell it goes on, and is stopped there when it reads the terminal or changes its modes. Where nobody could continue it, it goes on at once. Of a command that a signal or a limit has ended, art turns off what that had turned on of the terminal: its other screen, the mouse, a hidden cursor.`},
	{Name: "background", Short: "b", Says: "leave the session in the background, and print its id",
		More: `It has a terminal that "art attach" shows, and with --interactive=false a log alone, which "art logs" prints. It ends with its command, by "art kill", or with the user's login where the system ends that.`},
	{Name: "detach-keys", Arg: "KEYS", Default: `ctrl-\,d`, Says: "the keys that leave the session to itself; none if empty",
		More: `On a terminal, the session goes on without it then, as one in the background, and "art attach" joins it again. Keys are single characters between commas, with ctrl- before them or not. The first is the command's if the second does not follow within a second.`},
	{Name: "systemd", Says: "make the session in the background a unit of systemd, for its limits and its own end",
		More: `It is "art-PID.scope" of your manager, or of the system's for root; PID is that of art ps --json. A session that is detached becomes one then. Where there is no such manager, the session is refused, or stays on its terminal. Your settings can say it for all sessions in the background.`},
	{Name: "end", Arg: "WHAT", Choices: "kill wait ask", Default: "kill", Says: "what becomes of processes that the command leaves running when it ends",
		More: `With "kill" they are killed, and named on standard error. With "wait" the session goes on until they have ended, or by Ctrl-C; with "ask" it asks on a terminal, and kills elsewhere. Settings can say otherwise.`},
	{Name: "time", Arg: "TIME", Default: "no limit", Says: `how long the session may run, such as "90s" or "2h"`,
		More: `Then the command is sent SIGTERM, on a terminal SIGHUP too, and 10 seconds later SIGKILL. It takes the place of the settings' limit.`},
	{Name: "notify", Says: "tell you at your desktop when the session ends, waits for you, or was refused something",
		More: `It waits for you when it rings the bell, or writes what terminals show as a notification. Your settings can name a command that is told in place of the desktop, and turn it on for all sessions.`},
	{Name: "network", Arg: "WHAT", Offer: "host none", Default: "host", Says: `"host", "none", or names between commas that alone can be reached, and what the agent needs, such as "github.com,*.example.org:443"`,
		More: `Settings can say otherwise. With "none" there is a network of its own with nothing in it but the loopback interface. With names there is one that leads to these alone, over TCP, for any program, and what was denied is told at the end: see art(7). "unix:/run/x.socket" shows one socket of the host. Of these, "packages" stands for where your package managers fetch from, and "agent" for what an agent needs, which it may reach anyway.`},
	{Name: "learn", Says: "let it reach all that is public, and say at the end which settings would allow what it has reached",
		More: `Nothing of the host's, of a local network, or of what clouds tell their machines is public, and what settings deny stays denied. It is a network by name, whose settings "art net --propose" prints later. It is for one session, so it has no variable.`},
	{Name: "publish", Arg: "[HOST:]PORT", Repeat: true, Says: `have a port of the guest be reached at "127.0.0.1" of the host, at the same port or "HOST"; 0 is one that is free, and "none" has those of settings not be`,
		More: `What listens there in the guest, on its loopback or elsewhere, is reached by who can connect to the host's loopback. It takes "--network" with "none" or names: with "host" the guest's ports are the host's. A port of settings that is in use is left out with a warning; forks of "art try" and "art bisect" have none of these. "art ports" lists them. Over all of them there are 1000 connections at once; from then on one over which nothing was said for a minute is cut off for who comes.`},
	{Name: "path", Arg: "WHERE", Choices: "home host", Default: "home", Says: `with "host", the workspace is at its own path on the host too, and the command starts there`,
		More: `So what writes that path down, such as virtual environments, linked worktrees and build caches, works on both sides. The path is without symbolic links. It is one tree with two paths, and the directories that lead there are empty but for the way. Where neither this flag nor the settings say so, and the workspace has a git directory that lies outside of it, that is "host", see art(7).`},
	{Name: "env", Short: "e", Arg: "NAME[=VALUE]", Offer: Variables, Repeat: true, Says: "pass on a variable, or set one"},
	{Name: "preset", Arg: "NAME", Offer: Presets, Says: `what the agent "NAME" needs; "art NAME" takes it, too`,
		More: "That is its settings, variables, and what has to be seen of the host to run it. Without a command the agent is run."},
	{Name: "see", Arg: "PATH", Offer: Files, Repeat: true, Says: "show a path of the host at its own place, read-only, although homes are hidden",
		More: `Links on the way to it are there too. What holds credentials, such as "~/.ssh" or a whole home, is not shown.`},
	{Name: "hide", Arg: "PATH", Offer: Files, Repeat: true, Says: "hide a path of the host", More: "A directory is empty then, and a file too."},
	{Name: "allow", Arg: "CALLS", Offer: "io_uring keys namespaces perf sockets userfaultfd", Repeat: true,
		Says: `system calls that are refused otherwise: "io_uring", "keys", "namespaces" (sandboxes within: browsers, containers), "perf", "sockets" or "userfaultfd"`,
		More: `The first is not to be had where the guest can write files of the host; "keys" are the kernel's keyrings; art(7) tells what sandboxes within may mount; "sockets" are families and protocols beside the usual local and internet ones.`},
	{Name: "commands", Says: "learn which commands run, and which of them changes what", More: `"art timeline", "art log --command" and "art blame" show it. A command then takes some 0.2 ms longer to begin and end: on two processors a loop of git's took a twentieth longer, and a small build of Go's a fiftieth. Your settings can turn it on for all sessions. It is of sessions with a database, without "--trace" and "--allow namespaces".`},
	{Name: "events", Arg: "FILE", Offer: Files, Says: `tell what happens while it happens: JSON, an object a line, appended to a file, or to "unix:PATH", a socket that is listened at, or a descriptor's number`,
		More: `It is told when the session begins and ends, with "--commands" when its commands do, which files were changed, what checkpoints there are, and what was denied. The guest does not see the file, wherever it lies. Nobody waits for who reads it: what is not read in time is lost, which is told too. What the keys are says docs/events.md.`},
	{Name: "replicate", Arg: "URL", Says: `copy the database while the session writes it, to "s3://BUCKET/PATH", "file:///DIRECTORY" or "sftp://USER@HOST/DIRECTORY"; "none" has what settings say not be`,
		More: `The copy is a second behind, as far as the store keeps up, and whole when art has ended; "art restore" brings it back. It is for this database alone, and of one session at a time: another one that lives is named, and has it until it ends, or "--take-over". Keys of a store come from the environment ("AWS_ACCESS_KEY_ID" and others), from "~/.aws" or from the machine, and the guest sees neither them nor the copy. A place that is refused ends the session before the command begins. While a store is away the session goes on, and says so; what is not copied by the end does not change the exit code. Behind a bucket's path there may be "?endpoint=URL" and "&region=NAME". A server is reached by your own ssh, which has to be let in without a question; USER is what that takes otherwise, there may be a :PORT, and "/~/" before a directory is where a login begins. Your settings can name a place for all databases.`},
	{Name: "flatten", Says: `with "--replicate", have the database hold all of the workspace before the command begins`,
		More: `The copy can then go on anywhere: without it, what no session has changed is in the workspace alone. What is copied into the database is what the guest sees: what is hidden from it stays out. From then on it does not follow the host: what you change there comes in by "art push", and "art pull" compares as before. It takes as long as to read the workspace once, and the database, of which the first session copies all, is as large as that. It is of the workspace alone: a session that has a linked worktree or mounts of mode overlay is refused. If a file cannot be read, or it is interrupted, the session does not begin, and nothing is lost. Once it is done there is nothing to do. Your settings can say so for all databases.`},
	{Name: "take-over", Says: `with "--replicate", take the copy over from another session that writes there`,
		More: "That session ends as soon as it sees so; until then nothing that it writes there counts any more, and what it had not copied is in its own database alone."},
	{Name: "trace", Says: "trace system calls with art-trace(1)"},
	{Name: "trace-log", Arg: "FILE", Offer: Files, Default: "standard error", Says: "where the trace goes", More: "The guest does not see the file, wherever it lies."},
	{Name: "trace-syscalls", Arg: "LIST", Offer: Calls, Default: "all", Says: "the system calls to trace, between commas"},
	{Name: "trace-format", Arg: "FORMAT", Choices: traceFormats, Default: "text",
		Says: `"text", as strace writes it, "json", an object a line; or, at the end, "summary" (counts and times) or "report" (what was run, read, written, connected to)`},
	{Name: "quiet", Short: "q", Says: "say nothing but errors: no banner, no summary"},
}

var nameNeeded = []string{"NAME [flags]"}

func artCommands() []*Command {
	return append(sessionCommands(), []*Command{
		{Name: "art presets", Says: "list the agents that art knows, and where they are", Synopsis: []string{"[--json | --schema] [check NAME]"}, Most: 2, Exits: AsDiff, Words: []Offer{"check", Presets},
			Text: `  With check, it looks what a preset finds on this host; the exit status is 1 if it
  would not run, and 2 after an error.
`,
			Flags: []Flag{
				{Name: "json", Says: asJSON.Says,
					More: `Its keys are "name", "about", "own", "home" and "path", which is null for what is not installed; with check as of "art doctor".`},
				{Name: "schema", Says: "print a JSON schema of a preset, for editors", More: "See art-config(5)."},
			}},
		{Name: "art agent", Says: "agents of your own: settings with a name", Synopsis: []string{"new | ls | show | rm [NAME] [flags]"}},
		{Name: "art agent new", Says: "make an agent of your own", Synopsis: nameNeeded, Least: 1, Most: 1,
			Flags: []Flag{{Name: "preset", Arg: "PRESET", Offer: Presets, Says: "what a new one builds on"}, quiet}},
		{Name: "art agent ls", Says: "list the agents of your own", Synopsis: []string{"[--json]"},
			Flags: []Flag{{Name: "json", Says: asJSON.Says, More: `The keys of ls are "name", "preset", "enabled", "home", "workspace" and "file".`}}},
		{Name: "art agent show", Says: "show the settings that hold for an agent", Synopsis: nameNeeded, Least: 1, Most: 1, Words: []Offer{Agents}, Flags: []Flag{asJSON}},
		{Name: "art agent rm", Says: "remove an agent, with the workspace that was made for it", Synopsis: nameNeeded, Least: 1, Most: 1, Words: []Offer{Agents},
			Flags: []Flag{{Name: "force", Says: "remove also what is in the workspace"}, quiet}},
		{Name: "art home", Says: `the homes that "--home" names`, Synopsis: []string{"ls | rm | seed | diff [NAME [path...]] [flags]"}},
		{Name: "art home ls", Says: "list the homes", Synopsis: []string{"[--json]"},
			Flags: []Flag{{Name: "json", Says: asJSON.Says, More: `The keys of ls are "name", "path", "size", "whole" (false where there is more than could be looked at), "used", "running" and "workspaces".`}}},
		{Name: "art home rm", Says: "remove homes, with all that guests keep there", Synopsis: []string{"NAME... [flags]"}, Least: 1, Most: Any, Words: []Offer{Homes},
			Flags: []Flag{{Name: "force", Says: "ask nothing"}, quiet}},
		{Name: "art home seed", Says: "copy files of your own home into a home", Synopsis: []string{"NAME [path...] [flags]"}, Least: 1, Most: Any, Words: []Offer{Homes, Files},
			Flags: []Flag{{Name: "force", Says: "copy logins too, and replace what is there"}, quiet}},
		{Name: "art home diff", Says: "show how files in a home differ from your own", Synopsis: []string{"NAME [path...] [flags]"}, Exits: AsDiff, Least: 1, Most: Any, Words: []Offer{Homes, Files},
			Flags: []Flag{
				{Name: "patch", Says: "print a unified diff"},
				{Name: "json", Says: asJSON.Says, More: `Those of diff are "change" and "path".`},
			}},
		{Name: "art config", Says: "show the settings of a session, and where each was said", Synopsis: []string{"[flags]"}, Env: true,
			Text: `  The flags are those of the session.
`,
			Flags: slices.Concat(session, []Flag{mode,
				{Name: "json", Says: asJSON.Says, More: `Its keys are "key", "value" (null where nobody set it; limits in bytes, seconds or pieces) and "origin".`},
				{Name: "schema", Says: "print a JSON schema of the settings, for editors"},
			})},
		{Name: "art trust", Says: "allow what the settings of a workspace ask for", Synopsis: []string{"[--revoke] [--dry-run] [--json] [DIR]"}, Most: 1, Words: []Offer{Directories},
			Text: `  Shows what the settings of the workspace DIR ask for that yours do not allow, and
  allows it, until they change.
`,
			Flags: []Flag{
				{Name: "mount", Short: "m", Arg: "DIR", Offer: Directories, Default: "the current directory", Says: "the workspace; the same as the word DIR"},
				{Name: "dry-run", Says: "only show it"},
				{Name: "revoke", Says: "allow it no more"},
				{Name: "json", Says: asJSON.Says, More: `Its keys are "key", "value" and "origin".`},
			}},
		{Name: "art restore", Says: "bring back a database that was copied to another place", Synopsis: []string{"URL [-d DB | -m DIR] [--at TIME]"}, Least: 1, Most: 1,
			Text: `  URL is where "art run --replicate" has copied it to; with a place for all databases in
  the settings, the name of the database comes behind that. What is brought back has
  passed the check of art-fuse(1), and is where nothing was before.

`,
			Flags: []Flag{
				{Name: "db", Short: "d", Arg: "DB", Offer: Files, Default: "that of the workspace", Says: "the database that is made"},
				{Name: "mount", Short: "m", Arg: "DIR", Offer: Directories, Default: "the current directory", Says: `the workspace whose database it is to be, for "art run" there`,
					More: `Where that is another directory than the database knows, the first session needs "--adopt".`},
				{Name: "at", Arg: "TIME", Says: "as it was then: 17:30, 2006-01-02 17:30, or 20m for twenty minutes ago",
					More: `A copy goes back for a week: in the last minutes each half a second, then each half a minute, five minutes and hour, as it was made.`},
			},
			Notes: `EXAMPLES
  art run --replicate s3://backups/project make test
  art restore s3://backups/project -d project.db
  art restore file:///mnt/backup/project -d before.db --at 20m
`},
		{Name: "art doctor", Says: "look whether this host has what a session needs", Synopsis: []string{"[--attack | --container] [--json] [flags]"}, Exits: AsDiff, Env: true,
			Text: `  Says what to do about what is lacking. The flags are those of the sessions that it
  tries. The exit status is 1 if something fails, or breaks out, and 2 after an error.
`,
			Flags: slices.Concat(session, []Flag{mode,
				{Name: "attack", Says: "try to break out of a session, in every way that art knows, and show a table of what is enforced"},
				{Name: "container", Says: "in a container, show what it lacks alone, with the flag of docker and podman and the line of a Pod's manifest that give it"},
				{Name: "json", Says: asJSON.Says,
					More: `Its keys are "state" ("ok", "note" or "fail"), "what", "says" and "fix", and with --container "gives", of which "docker", "podman" and "kubernetes" are keys; of attempts "area", "attempt", and how it went on the "host" and in "direct" and "overlay" mode ("succeeds", "fails" or "allowed").`},
			})},
	}...)
}
