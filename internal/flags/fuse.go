package flags

// Fuse is art-fuse.
var Fuse = &Command{
	Name:     "art-fuse",
	Says:     "look into a database, mount, check and copy it, make it self-contained",
	Synopsis: []string{"COMMAND DB [flags] [argument...]", "--version"},
	Flags:    []Flag{version},
	Text: `  Looks into a database made by art, also while a session is writing to it.
  Nothing is changed, but by flatten, by check when told --repair, and by mount
  when told --read-write.

  For ls, cat, stat, tree and mount, DB may also be the URL that "art run --replicate"
  copies a database to: what they need of it is fetched page by page.
`,
	Notes: `EXAMPLES
  art-fuse tree work.db
  art-fuse cat work.db /work/README.md
  art-fuse cat s3://backups/project /work/README.md
  art-fuse mount work.db /mnt/look && ls /mnt/look/work
`,
}

var (
	base = Flag{Name: "base", Arg: "DIR", Offer: Directories, Says: "the workspace on the host that the database lies over",
		More: "Without it, only what the database itself holds is there to see."}
	name   = Flag{Name: "name", Arg: "NAME", Default: "base name of DIR", Says: "the name of the workspace in the database"}
	asJSON = Flag{Name: "json", Says: "print an object a line"}
)

var at = Flag{Name: "at", Arg: "CHECKPOINT", Says: "what was there at a checkpoint, by number or label",
	More: `"art log" lists them. What the host supplies is what it has now, if that still is the version that was there. ` +
		`What a pull has replaced or removed since is kept with it.`}

var inspected = []Offer{Files, InDatabase}

func fuseCommands() []*Command {
	return []*Command{
		{Name: "art-fuse ls", Says: "list directories", Synopsis: []string{"DB [PATH...] [-l] [-p] [--at CHECKPOINT] [--json]"}, Least: 1, Most: Any, Env: true, Words: inspected,
			Text: `  A PATH is "/" unless given, which is /home/agent in a session.
`,
			Flags: []Flag{
				{Name: "l", Says: `attributes, one line an entry, as "ls -l" shows them`},
				{Name: "p", Says: "a slash after the name of a directory"},
				at, asJSON,
			},
			Notes: `EXAMPLES
  art-fuse ls work.db
  art-fuse ls work.db /work -l
`},
		{Name: "art-fuse cat", Says: "print files", Synopsis: []string{"DB PATH... [--at CHECKPOINT] [--base DIR [--name NAME]]"}, Least: 2, Most: Any, Env: true, Words: inspected,
			Flags: []Flag{
				{Name: base.Name, Arg: base.Arg, Offer: base.Offer, Says: base.Says,
					More: "It supplies what a file that was changed in part does not hold itself, if it still is the version that was changed."},
				name, at,
			},
			Notes: `EXAMPLES
  art-fuse cat work.db /work/README.md
`},
		{Name: "art-fuse stat", Says: "print attributes", Synopsis: []string{"DB [PATH...] [--at CHECKPOINT] [--json]"}, Least: 1, Most: Any, Env: true, Words: inspected,
			Text: `  Prints all that a database knows of files: attributes, times to the nanosecond,
  where they come from, and how much content it holds.
`,
			Flags: []Flag{at, asJSON},
			Notes: `EXAMPLES
  art-fuse stat work.db /work/README.md
`},
		{Name: "art-fuse tree", Says: "list everything below a directory", Synopsis: []string{"DB [PATH...] [--at CHECKPOINT] [--json]"}, Least: 1, Most: Any, Env: true, Words: inspected,
			Flags: []Flag{at, asJSON},
			Notes: `EXAMPLES
  art-fuse tree work.db
`},
		{Name: "art-fuse mount", Says: "show a database as a directory", Synopsis: []string{"DB DIR [flags]"}, Least: 2, Most: 2, Env: true, Words: []Offer{Files, Directories},
			Text: `  Shows the tree of a database as the directory DIR, until "umount DIR" (or
  "fusermount3 -u DIR" for an ordinary user). A session may be running.
`,
			Flags: []Flag{
				base, name, at,
				{Name: "read-write", Says: "let the tree be changed; no session may run then"},
				{Name: "allow-other", Says: "let other users in too"},
				{Name: "fsname", Arg: "NAME", Default: "DB", Says: "the name in the list of mounts"},
				{Name: "foreground", Says: "do not go to the background"},
			},
			Notes: `EXAMPLES
  art-fuse mount work.db /mnt/look
  art-fuse mount work.db /mnt/look --base ~/work
`},
		{Name: "art-fuse check", Says: "look for damage, and repair it", Synopsis: []string{"DB [--repair] [--json]"}, Least: 1, Most: 1, Env: true, Words: []Offer{Files, Nothing},
			Text: `  Checks that a database is sound: as an SQLite file, and as a tree by the rules
  of its format. Prints one line for each violation. A session may be running;
  then its last commit is checked.
`,
			Flags: []Flag{
				{Name: "repair", Says: "repair what was found, and say what was done; the file as it was stays beside DB as DB.before-repair",
					More: `What can be read is copied into a new file and repaired there, which then takes the place of "DB". Files that have lost their names are in "/lost+found" afterwards. No other program may have the database open. An interruption leaves it as it was, or repaired.`},
				{Name: "json", Says: "print an object a line for each violation",
					More: `Its keys are "text", and if there is one, the inode ("ino") and what was done ("mended"). After a repair a last object says where the file as it was is ("before").`},
			},
			Notes: `EXIT STATUS
  0 when the database is sound, or is now; 1 when it is not, or cannot be checked;
  2 on wrong usage.

EXAMPLES
  art-fuse check work.db
  art-fuse check --repair work.db
`},
		{Name: "art-fuse backup", Says: "copy a database", Synopsis: []string{"DB FILE"}, Least: 2, Most: 2, Words: []Offer{Files, Files},
			Text: `  Copies a database into the new file FILE, which only you may read. A session may
  be running: then what its last commit left is copied, which is at most a moment
  old, and the session goes on meanwhile. FILE appears when it is whole and safe
  on the disk. A file that is there already is left alone.

  What the database still has on the host is not part of the copy; "art-fuse
  flatten" makes one that holds all.
`,
			Notes: `EXAMPLES
  art-fuse backup work.db work-monday.db
`},
		{Name: "art-fuse flatten", Says: "make a database self-contained", Synopsis: []string{"DB [--base DIR [--name NAME]]"}, Least: 1, Most: 1, Env: true, Words: []Offer{Files, Nothing},
			Text: `  Copies into a database all that a session would show and that is on the host
  only. Afterwards the tree is the same, other tools that read the Agent Filesystem
  format see all of it, and what changes on the host does not show any more in a
  session. No session may run. An interrupted run goes on where it was when it is
  repeated. What came from the host shows another inode number afterwards.
`,
			Flags: []Flag{
				{Name: base.Name, Arg: base.Arg, Offer: base.Offer, Says: base.Says, More: "It is needed if anything in the database refers to it."},
				name,
			},
			Notes: `EXIT STATUS
  0 when all was copied, 1 when something could not be (each path is named, and
  the rest is done), 2 on wrong usage.

EXAMPLES
  art-fuse flatten work.db --base ~/work
  art-fuse flatten copy.db --base ~/elsewhere --name work
`},
	}
}
