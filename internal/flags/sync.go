package flags

import "strings"

// Sync is art-sync. What it does is what art does by the same words.
var Sync = &Command{
	Name:     "art-sync",
	Says:     "move changes between a host directory and a database",
	Synopsis: []string{"COMMAND [flags] [path...]", "--version"},
	Flags:    []Flag{version},
	Text: `  "art push" and the like run these. Without art, a database has to be named.
`,
	Notes: syncStatus + `
EXAMPLES
  art-sync push -m workspace -d workspace.db
  art-sync diff -m workspace -d workspace.db
  art-sync pull -m workspace -d workspace.db
`,
}

const syncStatus = `EXIT STATUS
  0  all was done
  1  an error; what could be done was done, unless the message says otherwise
  2  wrong usage, also a path that neither side has, or had
  3  paths were left alone: conflicts, or changes that are held back
`

// summary is what art calls at the end of a session.
var summary = &Command{Name: "art-sync summary", Says: "say how much the sides differ", Synopsis: []string{"-m DIR -d DB"}, Flags: []Flag{workspace, database, {Name: "json", Says: "print what is pending, as art status counts it"}}, Hidden: true}

// inSync are commands of art as art-sync has them, but for those that run sessions.
func inSync(commands []*Command) (all []*Command) {
	for _, c := range commands {
		if _, word, _ := strings.Cut(c.Name, " "); !strings.Contains(word, " ") && !c.Payload {
			renamed := *c
			renamed.Name = Sync.Name + " " + word
			all = append(all, &renamed)
		}
	}
	return all
}

var (
	workspace = Flag{Name: "mount", Short: "m", Also: "workspace", Arg: "DIR", Offer: Directories, Default: "the current directory", Says: "the workspace on the host"}
	database  = Flag{Name: "db", Short: "d", Arg: "DB", Offer: Files, Says: "the database",
		More: `Without it, art takes the one that "art run" keeps for the workspace.`}
	lookedInto = Flag{Name: database.Name, Short: database.Short, Arg: database.Arg, Offer: database.Offer, Says: "the database, or the URL of its copy",
		More: database.More + ` It may be the URL that "art run --replicate" copies to, of which pages are fetched as they are needed.`}
	agent = Flag{Name: "agent", Arg: "NAME", Offer: Agents, Says: "an agent of your own, whose workspace and database these are"}
	adopt = Flag{Name: "adopt", Says: "the workspace was moved here, or is a copy that takes its place",
		More: adoptMore}
	quiet   = Flag{Name: "quiet", Short: "q", Says: "say nothing but errors"}
	tell    = Flag{Name: "events", Arg: "FILE", Offer: Files, Says: `tell of conflicts, as "art run" does of what happens: JSON, an object a line, to a file, "unix:PATH" or a descriptor`}
	dryRun  = Flag{Name: "dry-run", Says: "say what would be done, and change nothing"}
	exclude = Flag{Name: "exclude", Arg: "PATTERN", Offer: Files, Repeat: true, Says: "leave paths out, in the syntax of gitignore(5)"}
	ignored = Flag{Name: "no-ignored", Says: "leave out what git ignores"}
)

var (
	asRecord = Flag{Name: "json", Says: "print an object",
		More: `Its keys are those of a checkpoint in "art log --json".`}
)

const goingBack = `  In a session that runs, its programs see all of it at once. Files that they have
  open, or mapped, show what they were then; those that were not there then are as
  if they had been deleted. What a program has read into its own memory stays there.
  What it has written into a shared mapping is kept, as what it has written otherwise;
  one that goes on writing there in that moment may put parts of it into what is back.
  What is mounted in the home, and files of the host's there, do not go back.

  What the guest had until then is a checkpoint, too, so nothing is lost: it stays
  for a day at least, unless the disk is full or "art gc" drops it. The workspace on
  the host is not changed, and what the guest never changed is as the host has it
  now. What a pull has replaced, removed or made there since comes back as a change
  of the guest's, which the next "art pull" brings to the host. A checkpoint is
  refused that shows something which could not be kept when a pull replaced it, as a
  file above 32 MiB, and that is named. "art-fuse cat DB PATH --at CHECKPOINT" shows
  what a file of the database was then.
`

const adoptMore = "The database remembers the path of its workspace, and a directory of another path is refused without this."

const leftOut = `
  Left out is what --exclude, or the file .artignore at the top of DIR, name in
  the syntax of gitignore(5), and with --no-ignored what git ignores. The host's
  files with patterns count, not the guest's; how much they leave out is said.
`

func syncCommands() []*Command {
	return []*Command{
		{Name: "art diff", Says: "show what the guest changed", Synopsis: []string{"[flags] [path...]", "[flags] @FROM[..TO] [path...]", "[flags] FORK..FORK [path...]"}, Exits: AsDiff, Env: true, Most: Any, Words: []Offer{InWorkspace},
			Text: `  Shows what the guest has changed in /NAME/ of DB against DIR, NAME being the
  base name of DIR; with paths, only there. Nothing is changed. A session may be
  running: what it has committed, at most a moment ago, is shown.

  "@FROM..TO" compares two checkpoints instead, by number or label, and "@FROM" a
  checkpoint with what is now; "FROM..TO" is the same, and what begins with "./" is
  always a path. "FORK1..FORK2" compares forks of the database, by their names (see "art
  fork"); "FORK.." and "..FORK" compare one with the database itself, and "FORK@N" is
  the fork at a checkpoint of its own. All of the guest's home is compared. What is
  not in the workspace has "~/" before it, and is in no patch. What the guest never
  changed is in no checkpoint: that is as the host has it now.
` + leftOut,
			Flags: []Flag{workspace, agent, lookedInto, name, adopt,
				{Name: "patch", Says: `a unified diff that "git apply" and "patch -p1" take`,
					More: "Binary files are git's binary patches. On a terminal, and in the pager, what is no text (control characters, what changes the direction of text) is made visible, in bold."},
				{Name: "stat", Says: "how many lines changed"},
				{Name: "json", Says: "an object a line",
					More: `Its keys are "status" (the letter), "path", "from" of what was renamed, "kind", "old_mode" and "new_mode" (octal digits, with the type), "old_size" and "new_size" (bytes), "conflict" or "held" if pull would leave it, with "why"; of a reference "ref", "for" (what the guest calls it, if it comes to the host by another name), "old", "new", "rewound" (the new one does not follow the old) and "commits", each with "id" and "subject"; of what else a repository has, "other" (in words); and "path_bytes" (base64) of a path that is not UTF-8. Between checkpoints, "beside" is true of what is not in the workspace.`},
				exclude, ignored,
				{Name: "quiet", Short: "q", Says: "only the exit status"},
			},
			Notes: `OUTPUT
  A path            added
  M path            modified
  D path            deleted
  R path -> path    renamed
  T path            of another type, or executable and was not, or not any more

  Paths are relative to DIR, those of directories end in a slash. Times alone are
  no difference. On a terminal, the output is in colours, unless NO_COLOR is set,
  and what does not fit on the screen goes through PAGER, or less.

EXIT STATUS
  0  no difference
  1  differences
  2  trouble

EXAMPLES
  art diff
  art diff -m workspace -d workspace.db --patch src >changes.patch
  art diff @3
  art diff @3..5 --stat
  art diff try-1..try-2 --patch
`},
		{Name: "art pull", Says: "bring what the guest changed to the host", Synopsis: []string{"[flags] [path...]"}, Env: true, Most: Any, Words: []Offer{InWorkspace},
			Text: `  Brings what the guest has changed in /NAME/ of DB into DIR; NAME is the base
  name of DIR, or what --name says. Deletions and renames are brought too. With
  paths, only these, and what is below them. Files are written beside and renamed
  into place, so that none is ever half there; a pull that was interrupted can be
  run again. While a session runs, a pull brings what the guest has at that
  moment; what the guest changes meanwhile is left to the next one. It waits for
  up to 5 seconds while git works in a repository of the guest, and then leaves
  that as it is. What the host makes later of what was brought the guest sees; in a
  repository that the guest's git has written to, with the next push, or after a
  pull without a session.

  What only the host has changed stays. A path that both have changed is a
  conflict, unless both are equal: it is left alone, and named on standard error
  as "CONFLICT path: why".

  A DIR that is new or empty gets a copy of the only workspace in DB, whatever
  its name, or of the one that DIR or --name names.

  Nothing is written outside of DIR, whatever the database says. What the host's
  programs would run by themselves (git's hooks, .envrc, settings of editors and
  agents, start-up files of shells, what package managers run), and links that
  point out of DIR, are held back until they are allowed: "HELD path: why".
` + leftOut,
			Flags: []Flag{workspace, agent, database,
				{Name: "from", Arg: "FORK", Offer: Databases, Says: "pull what a fork of the database has, by its name", More: "That is the same as naming its database with --db. What the forks beside it and the database itself have stays there."},
				{Name: "pick", Short: "p", Says: `ask about each change, and about each hunk of a text, as "git add -p" does`,
					More: `The answers are read from standard input, one a line: "y" and "n" take and leave one, "a" and "d" it and all later ones of the file, "q" leaves the rest, "s" splits a hunk, "e" opens it in GIT_EDITOR, VISUAL or EDITOR, and "?" tells of the others. Without an answer, nothing is taken. What is not picked stays in the database: diff still shows it, and another pull brings it, without a conflict as long as the host does not change the same file.`},
				name, adopt,
				{Name: "force", Says: "in a conflict, take what the guest has"},
				{Name: "keep-both", Says: "in a conflict, keep what the host has, and write what the guest has as NAME.art",
					More: `That is "NAME.art2" and so on where it is taken, and from then on the guest has the host's as "NAME" too. Where one side has removed a file that the other has changed, the changed one stays, or comes back. Of a branch to which both have added commits, the guest's is "NAME.art", to be merged. Conflicts about directories' modes, and about a directory against a file of the host, are left. That resolves it: the next push brings the host's into the database.`},
				{Name: "allow", Arg: "PATTERN", Offer: Files, Repeat: true, Says: "bring what is held back and fits the pattern, in the syntax of gitignore(5)"},
				exclude, ignored, dryRun, tell,
				{Name: "quiet", Short: "q", Says: "say nothing but errors, conflicts and what is held back"},
				{Name: "verbose", Short: "v", Says: "name each path that is held back, also where many of one directory are, for one reason"},
			},
			Notes: `OUTPUT
  FILE NAME/path (N bytes)
  DIR  NAME/path
  LINK NAME/path -> target
  DEL  NAME/path

  How much was done, and was not, comes last, on standard error.

` + syncStatus + `
EXAMPLES
  art pull --dry-run
  art pull -m workspace -d workspace.db src
  art pull -p src/main.py
  art pull --allow .vscode/
  art pull --no-ignored --exclude '*.log'
  art pull --from try-2
`},
		{Name: "art push", Says: "bring what the host changed into the database", Synopsis: []string{"[flags] [path...]"}, Env: true, Most: Any, Words: []Offer{Files},
			Text: `  Stores files, directories and symbolic links of DIR under /NAME/ in DB, where
  NAME is the base name of DIR: with modes, owners, times, hard links and the
  user's extended attributes. DB is made if it does not exist. With paths, only
  these, and what is below them.

  DB remembers what both sides were when they last agreed. Only what the host has
  changed since is stored, what it has deleted is deleted, and what only the guest
  has changed stays. A path that both have changed is a conflict, unless both are
  equal: it is left alone, and named on standard error as "CONFLICT path: why".

  While a session runs, the guest sees at once what a push brings, all of it in
  one step. A file that has changed becomes another one: a program that has it open
  goes on with what it was. Files with several names are left then, and what the
  guest sees of DIR anyway is stored by a push after the session.

  Not stored: sockets, named pipes and devices, .art/ at the top of DIR, the
  database's own files, and what is left out.
` + leftOut,
			Flags: []Flag{workspace, agent, database, name, adopt,
				{Name: "force", Says: "in a conflict, take what the host has"},
				exclude, ignored, dryRun, tell,
				{Name: "quiet", Short: "q", Says: "say nothing but errors and conflicts"},
			},
			Notes: `OUTPUT
  FILE /NAME/path (N bytes, ino I)
  DIR  /NAME/path (ino I)
  LINK /NAME/path -> target (ino I)
  DEL  /NAME/path

` + syncStatus + `
EXAMPLES
  art push -m workspace -d workspace.db
  art push --dry-run --exclude node_modules/
`},
		{Name: "art reset", Says: "give up what the guest changed", Synopsis: []string{"[flags] [path...]"}, Env: true, Most: Any, Words: []Offer{InWorkspace},
			Text: `  Gives up what the guest has changed at the paths in /NAME/ of DB, and below them,
  NAME being the base name of DIR: the guest has there again what the host has. A
  file with hard links is given up under all of the host's names. What lies in the
  guest's home beside the workspace stays. DIR is not changed. No session may be
  using DB. What is given up is printed as "art diff" shows it.

  Without paths, it is all of the workspace. That is asked about on a terminal, and
  needs --force elsewhere.
`,
			Flags: []Flag{workspace, agent, database, dryRun, {Name: "force", Says: "without paths, do not ask"}, name, adopt, quiet},
			Notes: `EXAMPLES
  art reset --dry-run
  art reset -m workspace -d workspace.db src/main.py
`},
		{Name: "art status", Says: "show what is pending", Synopsis: []string{"[flags]"}, Env: true,
			Text: `  Shows what art pull would bring to the workspace, what it would leave, and who
  has the database: that of the workspace in which the current directory, or DIR,
  lies.
`,
			Flags: []Flag{workspace, lookedInto, agent,
				{Name: "all", Says: "show each path", More: `Otherwise a few lines are shown, those first that need a decision, and a directory that has come or gone with many files is one of them.`},
				{Name: "json", Says: "print an object",
					More: `Its keys are "workspace", "database", "size", "running", "pid", "copied" (as of "art ps", where a session copies it), the numbers of files "changed", "deleted", "held" and "conflicts", and that of "directories", and, if there is something, "beside": for each mount of mode overlay "path", "files" and "bytes".`},
			}},
		{Name: "art log", Says: "show the sessions there were, and the checkpoints", Synopsis: []string{"[flags] [path...]"}, Env: true, Most: Any, Words: []Offer{InWorkspace},
			Text: `  Shows the sessions, the latest first: when, how long, how each ended, how many
  files it made, changed and deleted, and its command. Between them are the
  checkpoints: number, why there is one, how many files and bytes of content came,
  changed or went since the one before, and label. One that the tree was brought
  back to names the checkpoint that it came from.

  With paths, only those checkpoints are shown between which something at one of
  these, or below it, has changed, and the sessions that ran meanwhile: "art diff A..B"
  shows how. Paths are as those of "art rewind".
`,
			Flags: []Flag{workspace, lookedInto, agent,
				{Name: "command", Arg: "PATTERN", Says: "show what the commands that match it have changed and reached, as \"art timeline\" does",
					More: `The pattern is of the whole command line, its arguments with a space between them, and "*" in it is any text. What the process of such a command goes on as, as that of a script goes on as its interpreter, is shown, too.`},
				{Name: "verify", Says: "say whether what sessions have recorded is as they have sealed it at their end, and exit with 1 if not",
					More: `That are the sessions, the commands, what these have changed, and the moments of checkpoints; not their labels, nor files. Each seal is a hash of that and of the seal before it, of which the last is printed as "head". It shows what was changed since by hand, or by a program that does not know of seals. Who can write the database can make all seals anew: what shows that is a hash that was noted elsewhere, for "--head". A session that runs or was killed is not sealed. With "--json" it is one object: "sound", "seals", "records", "gone" (dropped with old history), "unsealed" (sessions), "of_no_session" (commands that no seal speaks of, as they are of no session), "differs", "noted" (whether there is a seal with the hash of "--head"; null without), "head".`},
				{Name: "head", Arg: "HASH", Says: `with "--verify", also fail if no seal has this hash, which an earlier "--verify" has printed`},
				{Name: "json", Says: asJSON.Says,
					More: `Keys of a checkpoint are "checkpoint" (its number), "made", "kind", "label", "session" and "restored", and, where that is counted, "files" and "bytes" that changed since the one before. Those of a session are "started", "ended", "seconds", "running", "pid", "command", "exit_code", "made", "changed" and "deleted", where null is unknown, "why" where something has ended it, and "denied" where its guest was denied something on the network: how often.`},
			}},
		{Name: "art blame", Says: "show where each line of a file has come from", Synopsis: []string{"[flags] FILE"}, Env: true, Least: 1, Most: 1, Words: []Offer{InWorkspace},
			Text: `  Shows for each line of a file of the guest's between which checkpoints it has come, as
  "art diff A..B" takes them, when the file had changed last by then, and the command
  that has written it last by then, with what the agent has called that turn ("art
  checkpoint", in the session). Where no command is known it is the turn, or else the
  command of the session. A line with "-" was on the host before a guest changed the
  file, or is older than the oldest checkpoint.

  FILE is relative to the current directory, or to the workspace; beside the workspace
  it begins with '~/'. What came in no session did so by a push, by going back, or on
  the host.
`,
			Flags: []Flag{workspace, lookedInto, agent,
				{Name: "json", Says: "print an object for each range of lines",
					More: `Its keys are "first" and "last" (the lines, from 1), "from" and "to" (the numbers of the checkpoints before and after they came; null: there is none), "time" (when the file had changed last by then), "session" and "command" (null: it was none), "label", and "process", "by", "by_mapping" and "among": the number of the process that has written the file last by then, its command line, whether it did so by mapped pages, which likely were its own, and how many processes have written the file in that time.`},
			},
			Notes: `EXAMPLES
  art blame src/main.go
  art blame --json src/main.go
`},
		{Name: "art timeline", Says: "show the commands that ran, and what each has changed and reached", Synopsis: []string{"[flags] [SESSION]"}, Env: true, Most: 1,
			Text: `  Shows the commands that ran in sessions, the earliest first: when, how long, exit
  code, and the command line with what the agent has called that turn ("art
  checkpoint", in the session); below each the paths that it has made, written, named
  (by a rename or a link), removed, or of which it has changed the attributes, and what
  it has reached on the network, or was denied there, where that has names.

  A command is a program from its execve(2) on; what it does in processes that run no
  other program is its own. Paths are where things are now, or were last. SESSION is a
  number as the headings have it. A session keeps those of its commands that have
  changed something, and the last 10000 others. They are learnt in sessions with
  --commands, or with "commands": true in your settings.
`,
			Flags: []Flag{workspace, lookedInto, agent,
				{Name: "command", Arg: "PATTERN", Says: "only the commands that match it",
					More: `The pattern is of the whole command line, its arguments with a space between them, and "*" in it is any text. What the process of such a command goes on as, as that of a script goes on as its interpreter, is shown, too.`},
				{Name: "all", Says: "also commands that have changed nothing, and all paths"},
				{Name: "html", Says: "print a page for a browser, which needs nothing else"},
				{Name: "json", Says: "print an object for each command",
					More: `Its keys are "process" (its number), "parent" (that of the process that has started it), "replaces" (that of what the process was before, as a script is before its interpreter, and which is "parent", too; null: nothing), "session", "pid", "command", "cut" (it is longer), "dir", "started", "ended", "exit_code" (128 and the signal that has ended it), "label" (of the turn), "files" and "network". A file has "path", "changes" ("made", "written", "attributes", "named", "removed"), "by_mapping" (by mapped pages, likely of this command), "there" (now), "after" (the number of the checkpoint before), "first" and "last" (when). Of the network there are "name", "port", "protocol", "denied", "why", "times", "sent" and "received". What is null is unknown.`},
			},
			Notes: `EXAMPLES
  art timeline
  art timeline --command 'npm *'
  art timeline --html >timeline.html
`},
		{Name: "art net", Says: "show what guests did on the network, and what they were denied", Synopsis: []string{"[flags]", "--follow|--live [flags] [ID]", "--propose [--live [ID]] [SESSION]"}, Env: true, Most: 1, Words: []Offer{Sessions},
			Text: `  Shows the connections of the sessions that had names for a network (--network), the
  oldest first: when, what became of it, the name and port, the program, as it calls
  itself, and how much went out and in, with the rule that allowed it or why it was
  denied. Of a session 10000 are kept in the database, for as long as checkpoints. In
  direct mode, where there is none, a session knows the last 1000 while it runs: --live.
  What was granted ("art grant") is shown too, with who has granted it.

  ID is that of a session, as "art ps" lists it. Without, it is the one in the workspace
  that the current directory lies in.

`,
			Flags: []Flag{workspace, lookedInto, agent,
				{Name: "follow", Short: "f", Says: "show what a session that runs has done, and what it does, until it ends"},
				{Name: "live", Says: "show what a session that runs has done"},
				{Name: "propose", Says: "print the settings that would allow what was reached, and nothing else",
					More: `It is for the last session that has reached something, or the one of a number, as --json has it. Sockets of the host ("unix:") are not among them: what is said there is not seen.`},
				{Name: "denied", Says: "only what was denied"},
				{Name: "host", Arg: "NAME", Says: "only this name or address; *.NAME is all below a name"},
				{Name: "json", Says: asJSON.Says,
					More: `Its keys are "session" (a number that all of one session have; none with --live and --follow), "began", "ended" (null while it is open), "pid" and "command" of the program (null and empty where unknown), "name", "address" and "port", "protocol", "denied", "rule" that allows it, "why" it was denied or failed, "allow" (the rule that would allow it), the bytes "sent" and "received", and "times".`},
			}},
		{Name: "art checkpoint", Says: "remember what the tree is now", Synopsis: []string{"[-m LABEL] [flags]"}, Env: true,
			Text: `  Makes a checkpoint of all that is in the guest's home, with a number and, if you
  like, a label; also while a session runs, which goes on. Nothing is copied: what
  changes later is kept as it was. If nothing has changed since the last one, that
  is the checkpoint, and is given the label. It is on the disk when the command
  ends. "art log" lists checkpoints, "art-fuse --at" shows one, "art rewind" goes
  back. What the host has, and was never changed by the guest, is in none. What
  programs have written through shared mappings is in it; in one that comes by
  itself, after msync(2), the end of the mapping, or about half a minute.

  In a session, where art is seen there, it asks that session, and --json prints
  number and label. So does each program that sends the line "checkpoint LABEL" to the
  socket /run/art/checkpoint: see man art-config.
`,
			Flags: []Flag{{Name: "label", Short: "m", Arg: "LABEL", Says: "a name for it, beside its number",
				More: `It is text of up to 200 bytes in one line, is no number, does not begin with "@", and has no ".." in it.`},
				{Name: workspace.Name, Also: workspace.Also, Arg: workspace.Arg, Offer: workspace.Offer, Default: workspace.Default, Says: workspace.Says},
				database, agent, asRecord, quiet},
			Notes: `EXAMPLES
  art checkpoint -m "before the rewrite"
`},
		{Name: "art undo", Says: "go back to before the last change", Synopsis: []string{"[flags]"}, Env: true,
			Text: `  Brings all that is in the guest's home back to the last checkpoint, or, if
  nothing has changed since that, to the one before; and so on each time. "art
  redo" takes it back.
` + goingBack,
			Flags: []Flag{workspace, database, agent, asRecord, quiet},
			Notes: `EXAMPLES
  art undo
`},
		{Name: "art redo", Says: "take back an undo or a rewind", Synopsis: []string{"[flags]"}, Env: true,
			Text: `  Brings back what the last "art undo" or "art rewind" has replaced, if nothing
  has changed since; and so on each time.
` + goingBack,
			Flags: []Flag{workspace, database, agent, asRecord, quiet},
			Notes: `EXAMPLES
  art redo
`},
		{Name: "art rewind", Says: "go back to a checkpoint", Synopsis: []string{"[flags] CHECKPOINT [path...]"}, Env: true, Least: 1, Most: Any, Words: []Offer{Nothing, InWorkspace},
			Text: `  Brings all that is in the guest's home back to a checkpoint, by its number or
  its label. "art redo" takes it back.

  With paths, only what is there goes back, and all else stays: what has changed is
  what it was, what was removed comes back, and what is new goes. "art undo" takes
  that back, too. Paths are relative to the current directory, or to the workspace;
  those beside the workspace begin with '~/', as "art diff" shows them. What
  has another name outside of these paths, now or then, is named, and nothing is
  changed: a directory that was renamed, and a file with a second name. So is a path
  whose directory is not there any more.
` + goingBack,
			Flags: []Flag{workspace, database, agent, asRecord, quiet},
			Notes: `EXAMPLES
  art rewind 3
  art rewind "before the rewrite" src README.md
`},
		{Name: "art fork", Says: "make a database that goes on from this one by itself", Synopsis: []string{"[--at CHECKPOINT] [flags] NAME..."}, Env: true, Least: 1, Most: Any, Words: []Offer{Files},
			Text: `  Makes a database that has all that is in the guest's home, now or at a checkpoint,
  over the same workspace: also while a session runs, which goes on. Nothing is copied:
  a fork reads from the database that it was made of, its parent, and has what is
  changed in it alone. What is done in one does not show in the other. The parent keeps
  the checkpoint for as long as there is the fork, and has to stay where it is. With
  several names, as many forks of one moment are made, or none.

  It lies beside the parent, and its path is printed: use it with --db, as any other. A
  NAME with a slash in it is a path. "art rm" removes it, and with the last fork of it a
  checkpoint that was made for that; "art-fuse backup" makes a copy that needs no
  parent. It has a history of its own, which begins here.

  In a workspace in which nothing was run yet, a database is made as "art run" does.
`,
			Flags: []Flag{{Name: "at", Arg: "CHECKPOINT", Says: "fork what the tree was at a checkpoint, by its number or label"}, workspace, database, agent,
				{Name: "json", Says: "print an object", More: `Its keys are "database", "parent" and "checkpoint".`}, quiet},
			Notes: `EXAMPLES
  art fork other-way
  art fork red green blue
  art -d "$(art fork --json other-way | jq -r .database)" -- make
`},
		{Name: "art merge", Says: "take what a fork has changed into the database that it was made of", Synopsis: []string{"[flags] FORK"}, Env: true, Least: 1, Most: 1, Words: []Offer{Files},
			Text: `  Takes into the database what has changed in a fork of it since it was made, or was
  merged last: files, directories, links, modes and owners, in all of the guest's home.
  What only the database has changed stays. What both changed differently is a conflict:
  it is named on standard error, and left alone on both sides. It stays one, until both
  have the same, or a flag says whose counts. A git directory that both changed is
  one conflict. A directory that the fork has renamed is renamed, with what is new in it,
  also where the fork has put something else in its place;
  one that both have renamed differently is a conflict, where git would have both names.
  So is a path of 4,096 bytes or more, which no program can name. The workspace on the
  host is not looked at: what changed there, as by a pull of another fork, is no change
  of the database's, and in conflict with the fork's when that is pulled.

  All of it is one change, which "art undo" takes back. The fork stays as it is, and
  may go on and be merged again. FORK is a name that art fork was given, or a path.
  Sessions that use the database or the fork go on: programs see the merge as one step, as
  they do "art undo". What they change of it meanwhile has the merge begin anew.
`,
			Flags: []Flag{workspace, database, agent, dryRun, tell,
				{Name: "force", Says: "where both changed something, take what the fork has"},
				{Name: "ours", Says: "where both changed something, leave what is there"},
				{Name: "json", Says: asJSON.Says, More: `There is one for each path, with the keys "path", "change" ("made", "changed" or "deleted") and, instead of that, "conflict": why.`}, quiet},
			Notes: `EXIT STATUS
  0 if all was merged, 1 after an error, 2 after wrong usage, 3 if paths are in conflict.

EXAMPLES
  art merge --dry-run other-way
  art merge other-way
`},
		{Name: "art bisect", Says: "find the checkpoint at which something broke", Synopsis: []string{"[--good CHECKPOINT] [--bad CHECKPOINT] [flags] [--] command..."}, Payload: true, Env: true,
			Text: `  Runs a command at checkpoints, in as few as it takes, and prints the first at which
  it calls the tree bad, with what has changed since the one before, as "art diff" shows
  it. Exit code 0 of the command means good, 125 that this checkpoint cannot be tested
  and another is to be tried, 1 to 127 bad; any other ends the search, as of "git bisect
  run". Both ends are tried first: the oldest checkpoint that can be shown has to be
  good, and what is now has to be bad. Where it was broken several times, and mended
  between, it is one of these.

  Each run is a session, as by "art run", at the top of the workspace, in a fork of the
  checkpoint, which is removed afterwards, also after Ctrl-C. So neither the workspace
  on the host nor what the guest has now is changed, and a session that runs goes on.
  What the guest never changed is as the host has it now. What is now becomes a checkpoint
  for the time of the search, which stays if it is the first bad one. What the command
  writes appears on standard error. Settings of the session are those of the workspace;
  variables such as ART_NETWORK and ART_ENV say others.
`,
			Flags: []Flag{
				{Name: "good", Arg: "CHECKPOINT", Default: "the oldest", Says: "where it was good, by number or label"},
				{Name: "bad", Arg: "CHECKPOINT", Default: "what is now", Says: "where it is bad, by number or label"},
				workspace, database, agent,
				{Name: "json", Says: "print an object, and one for each change", More: `The first has the keys of a checkpoint in "art log --json", "good" (the number of the last good one), and "skipped" (the numbers of those between that could not be tried); the others are those of "art diff --json".`},
				{Name: "quiet", Short: "q", Says: "tell nothing of the runs, and hide the command's standard output"}},
			Notes: `EXIT STATUS
  0  the first bad checkpoint was found
  1  an error, or only checkpoints that could not be tried are left
  2  wrong usage

EXAMPLES
  art bisect -- make test
  art bisect --good "before the rewrite" -- sh -c 'make || exit 125; ./check'
`},
		{Name: "art try", Says: "run a command in several forks side by side", Synopsis: []string{"-n K [flags] [--] command..."}, Payload: true, Env: true,
			Text: `  Makes K forks of what is in the guest's home, now or at a checkpoint, as "art fork"
  does, and runs the command in each, in a session of its own, as by "art run", at the
  top of the workspace. They are called try-1, try-2 and so on, or as --name says; numbers
  that are taken are passed over. If one cannot be made, because the disk is full, those
  made before are removed again. In the arguments, "{n}" is the number of the fork, and the
  command finds its name in ART_FORK.

  There is no terminal. A line for each on standard error says how far it is. The last
  64 KiB of what each writes are kept in its fork, with exit code and time: "art compare"
  shows them. The forks stay, also after Ctrl-C, which ends all: "art diff FORK1..FORK2"
  compares two, "art pull --from FORK" or "art merge FORK" takes one over, and "art rm"
  removes one. A session may be using the database, and goes on. Where nothing was run yet,
  a database is made as "art run" does. Settings of the sessions
  are those of the workspace; variables such as ART_NETWORK and ART_PRESET say others.
`,
			Flags: []Flag{
				{Name: "count", Short: "n", Arg: "K", Says: "how many forks, up to 100"},
				{Name: "jobs", Short: "j", Arg: "N", Default: "one for each processor", Says: "how many run at once"},
				{Name: "at", Arg: "CHECKPOINT", Says: "fork what the tree was at a checkpoint, by its number or label"},
				{Name: "name", Arg: "NAME", Default: "try", Says: "what the forks are called"},
				workspace, database, agent, quiet},
			Notes: `EXIT STATUS
  0  the command has ended with 0 in each
  1  an error of art's own, or it was interrupted
  2  wrong usage
  Otherwise it is the highest exit code of the commands.

EXAMPLES
  art try -n 3 -- sh -c './solve --seed {n} && make test'
  art try -n 8 -j 4 --name speed --at 3 -- ./experiment {n}
  art compare
`},
		{Name: "art compare", Says: "show what came of forks", Synopsis: []string{"[flags] [FORK...]"}, Env: true, Most: Any, Words: []Offer{Databases},
			Text: `  Shows of each fork of the database, or of those that are named, the exit code and the
  time of the command that "art try" has run in it, how many files and lines of the
  workspace it has changed since it was made, how many files beside that, and the last
  lines that the command has written. Below that are the paths of the workspace that
  several have changed, and whether these have the same there now.
  "?" in the place of lines: a fork has changed a file of the host's of which the host has
  another version by now.
`,
			Flags: []Flag{workspace, database, agent,
				{Name: "json", Says: asJSON.Says, More: `Keys of a fork are "fork", "database", "command", "started", "seconds", "exit_code", "files", "beside" (files in the home beside the workspace), "added" and "removed" (lines), "output" (its end), where null is unknown, and "error". Those of a path that several have changed are "path", "forks" and "same".`}},
			Notes: `EXAMPLES
  art compare
  art compare try-1 try-3 --json
`},
		{Name: "art gc", Says: "drop old checkpoints", Synopsis: []string{"[flags]"}, Env: false,
			Text: `  Drops checkpoints until there are no more than the flags say, and gives the space
  back to the disk. The oldest go first; of too many, those with a label go last. The
  guest's count apart: as many of these may stay, and a hundred at most.
  The newest stays, and so does all that is in the guest's home now, and what a fork
  is of, which is named. What only the dropped ones show is lost. No session may be
  using DB.
`,
			Flags: []Flag{workspace, database, agent,
				{Name: "checkpoints", Arg: "N", Default: "100", Says: "how many may stay, and as many of the guest's"},
				{Name: "days", Arg: "N", Default: "14", Says: "how old one without a label may be"},
				{Name: "gone", Says: "forget forks that are not where they were made", More: "One that was only moved cannot be used any more then."},
				{Name: "size", Arg: "SIZE", Default: "2G", Says: "how much content may be kept that is not there any more: bytes, or with K, M, G or T"},
				quiet},
			Notes: `EXAMPLES
  art gc
  art gc --checkpoints 10
`},
		{Name: "art list", Says: "show all databases of workspaces", Synopsis: []string{"[--json]", "[--json] URL"}, Most: 1,
			Text: `  Shows the databases of workspaces, the one that was used last first: name, size,
  when it was used, workspace, and of a fork what it is one of. With a URL as of
  "art run --replicate", the copies there and below it: size, when that was noted
  last, whether a session writes it, how many paths art pull would have had to bring
  at the end of its last session, its host and workspace. Their content is not read.
`,
			Flags: []Flag{
				{Name: "json", Says: asJSON.Says,
					More: `Its keys are "name", "workspace", "gone", "database", "parent" (what it is a fork of, or empty), "size", "history" (how many bytes of it only checkpoints have), "used", "running", "pid" and "error"; of copies "url", "database", "workspace", "host", "state" ("running", "ended", or "interrupted" for a session that did not come to its end), "session" (the number of the newest), "changed", "size", "pending" (the numbers of art status at the end of the last session that has counted them, and "counted", when that was; null where it is not known), "user", "pid" and "since" (of the session that has it), and "error".`},
			}},
		{Name: "art rm", Says: "remove the database of a workspace", Synopsis: []string{"[--force] [-q] [NAME | DIR | DB | FORK]", "[--force] [-q] URL"}, Most: 1, Words: []Offer{Databases},
			Text: `  Removes the database of the workspace that the current directory lies in, or the
  one that is named: by a name that art list shows, by the base name of its
  workspace or the path of that, by its own path, or as a fork of that database by the
  name that art fork was given. It asks if that has what the
  workspace has not; where nobody can be asked, that needs --force. One that has forks
  stays as long as these read from it: --force removes it all the same, names them, and
  they cannot be used any more. While a session uses one of them, it always stays.
  Copies of it stay where they are. With a URL as of "art run --replicate", the copy
  there is what is removed, once no session writes it, always after a question.
`,
			Flags: []Flag{{Name: "force", Says: "remove it whatever is in it"}, quiet}},
	}
}
