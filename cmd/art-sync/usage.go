package main

// usages are the help texts, by command.
var usages = map[string]string{prog: usage, "push": usagePush, "pull": usagePull, "diff": usageDiff, "reset": usageReset,
	"status": usageOverview, "log": usageOverview, "list": usageOverview, "rm": usageOverview}

const usage = `NAME
  art-sync - move changes between a host directory and a database

SYNOPSIS
  art-sync push [flags] -d DB [path...]
  art-sync pull [flags] -d DB [path...]
  art-sync diff [flags] -d DB [path...]
  art-sync reset [flags] -d DB [path...]
  art-sync --version

COMMANDS
  push   bring what the host changed into the database
  pull   bring what the guest changed to the host
  diff   show what the guest changed
  reset  give up what the guest changed

  "art push" and so on run these; art status, log, list and rm are here too.
  "art-sync COMMAND --help" tells more.

EXIT STATUS
  0  all was done
  1  an error; what could be done was done, unless the message says otherwise
  2  wrong usage, also a path that neither side has, or had
  3  paths were left alone: conflicts, or changes that are held back

  Of diff: 0 no difference, 1 differences, 2 trouble.

EXAMPLES
  art-sync push -m workspace -d workspace.db
  art-sync diff -m workspace -d workspace.db
  art-sync pull -m workspace -d workspace.db
`

const usagePush = `NAME
  art-sync push - bring what the host changed into a database

SYNOPSIS
  art-sync push [-m DIR] -d DB [--force] [--exclude PATTERN]...
                [--no-ignored] [--dry-run] [-q] [path...]

DESCRIPTION
  Stores files, directories and symbolic links of DIR under /NAME/ in DB, where
  NAME is the base name of DIR: with modes, owners, times, hard links and the
  user's extended attributes. DB is made if it does not exist. With paths, only
  these, and what is below them.

  DB remembers which directory its workspace is, and is used with no other one
  without --adopt. It remembers what both sides were when they last agreed. Only what the host has
  changed since is stored, what it has deleted is deleted, and what only the guest
  has changed stays. A path that both have changed is a conflict, unless both are
  equal: it is left alone, and named on standard error as "CONFLICT path: why". So
  are its other names, where it has hard links. A change of the mode, of the name
  or of the links of a file is in nobody's way who changes its content.

  Not stored: sockets, named pipes and devices, .art/ at the top of DIR, the
  database's own files, and what is left out (see below).

  Left out is what --exclude, or the file .artignore at the top of DIR, name in
  the syntax of gitignore(5), and with --no-ignored what git ignores. The host's
  files with patterns count, not the guest's; how much they leave out is said.

FLAGS
  -m, --mount, --workspace DIR   host directory (default: the current one)
      --agent NAME               an agent of your own, whose workspace it is
  -d, --db DB                    database
      --name NAME                the workspace's name in DB
      --adopt                    the workspace was moved here
      --force                    in a conflict, take what the host has
      --exclude PATTERN          leave paths out; may be repeated
      --no-ignored               leave out what git ignores
      --dry-run                  say what would be done, and change nothing
  -q, --quiet                    say nothing but errors and conflicts

  Each long flag can be given as an environment variable: ART_DB is --db.

OUTPUT
  FILE /NAME/path (N bytes, ino I)
  DIR  /NAME/path (ino I)
  LINK /NAME/path -> target (ino I)
  DEL  /NAME/path

  A path with control characters is written as $'...', which a shell reads; on a
  terminal, so is one with characters that do not print.

EXAMPLES
  art-sync push -m workspace -d workspace.db
  art-sync push --dry-run --exclude node_modules/ -d ../workspace.db
`

const usagePull = `NAME
  art-sync pull - bring what the guest changed to the host

SYNOPSIS
  art-sync pull [-m DIR] -d DB [-p] [--force | --keep-both]
                [--allow PATTERN]... [--exclude PATTERN]... [--no-ignored]
                [--dry-run] [-q | -v] [path...]

DESCRIPTION
  Brings what the guest has changed in /NAME/ of DB into DIR; NAME is the base
  name of DIR, or what --name says. Deletions and renames are brought too. With
  paths, only these, and what is below them. Files are written beside and renamed
  into place, so that none is ever half there; a pull that was interrupted can be
  run again.

  What only the host has changed stays. A path that both have changed is a
  conflict, unless both are equal: it is left alone, and named on standard error
  as "CONFLICT path: why".

  What was brought is the host's from then on: the guest sees what the host makes
  of it later. A database that a push has stored all of DIR in keeps it, so that
  it can be carried away; there, the next push brings the host's.

  A DIR that is new or empty gets a copy of the only workspace in DB, whatever
  its name, or of the one that DIR or --name names. DB goes on to belong to the
  directory that it knows, unless --adopt says that DIR takes its place.

  Nothing is written outside of DIR, whatever the database says: no symbolic
  link is followed. Set-user-ID and set-group-ID bits are dropped, devices are
  not made. Owners are set when root pulls. What the host's programs would run
  by themselves (git's hooks and configuration, .envrc, settings of editors and
  agents, start-up files of shells, what package managers run), what the presets
  of its sessions name, and links that point out of DIR, are held back until they
  are allowed: "HELD path: why".

  Where the file system of DIR cannot hold what is to be brought (names that
  differ only in case where that does not count, names too long, links, modes),
  nothing is changed. That is tried out, so a dry run does not tell of it.

  Left out is what --exclude, or the file .artignore at the top of DIR, name in
  the syntax of gitignore(5), and with --no-ignored what git ignores. The host's
  files with patterns count, not the guest's; how much they leave out is said.

FLAGS
  -m, --mount, --workspace DIR   host directory (default: the current one)
      --agent NAME               an agent of your own, whose workspace it is
  -d, --db DB                    database; no session may be using it
      --name NAME                the workspace's name in DB
      --adopt                    the workspace was moved here
  -p, --pick                     ask about each change, and about each hunk of a
                                 text, as "git add -p" does; what is not picked
                                 stays for another pull
      --force                    in a conflict, take what the guest has
      --keep-both                resolve conflicts: the host's stays, the guest's
                                 is written as NAME.art, and neither comes back
                                 as a conflict; of a deletion against a change,
                                 the change stays
      --allow PATTERN            bring what is held back and fits the pattern, in
                                 the syntax of gitignore(5); may be repeated
      --exclude PATTERN          leave paths out; may be repeated
      --no-ignored               leave out what git ignores
      --dry-run                  say what would be done, and change nothing
  -q, --quiet                    say nothing but errors, conflicts, what is held
  -v, --verbose                  name each path that is held, also where many of
                                 one directory are, for one reason

  Each long flag can be given as an environment variable: ART_DB is --db.

OUTPUT
  FILE NAME/path (N bytes)
  DIR  NAME/path
  LINK NAME/path -> target
  DEL  NAME/path

  How much was done, and was not, comes last, on standard error.

  A path with control characters is written as $'...', which a shell reads; on a
  terminal, so is one with characters that do not print.

EXAMPLES
  art-sync pull --dry-run -m workspace -d workspace.db
  art-sync pull -m workspace -d workspace.db src
  art-sync pull -m workspace -d workspace.db -p src/main.py
  art-sync pull -m workspace -d workspace.db --allow .vscode/
  art-sync pull -m workspace -d workspace.db --no-ignored --exclude '*.log'
`

const usageDiff = `NAME
  art-sync diff - show what the guest changed

SYNOPSIS
  art-sync diff [-m DIR] -d DB [--patch | --stat | --json]
                [--exclude PATTERN]... [--no-ignored] [path...]

DESCRIPTION
  Shows what the guest has changed in /NAME/ of DB against DIR, NAME being the
  base name of DIR; with paths, only there. Nothing is changed. A session may be
  running: what it has committed, at most a moment ago, is shown.

  Left out is what --exclude, or the file .artignore at the top of DIR, name in
  the syntax of gitignore(5), and with --no-ignored what git ignores. The host's
  files with patterns count, not the guest's; how much they leave out is said.

FLAGS
  -m, --mount, --workspace DIR   host directory (default: the current one)
      --agent NAME               an agent of your own, whose workspace it is
  -d, --db DB                    database
      --name NAME                the workspace's name in DB
      --adopt                    the workspace was moved here
      --patch                    a unified diff that "git apply" and "patch -p1"
                                 take; binary files as git's binary patches
      --exclude PATTERN          leave paths out; may be repeated
      --no-ignored               leave out what git ignores
      --stat                     how many lines changed
      --json                     an object a line
  -q, --quiet                    only the exit status

  Each long flag can be given as an environment variable: ART_DB is --db.
  On a terminal, the output is in colours, unless NO_COLOR is set, and what does
  not fit on the screen goes through PAGER, or less.

OUTPUT
  A path            added
  M path            modified
  D path            deleted
  R path -> path    renamed
  T path            of another type, or executable and was not, or not any more

  Paths are relative to DIR, those of directories end in a slash. Times alone are
  no difference.

EXIT STATUS
  0  no difference
  1  differences
  2  trouble

EXAMPLES
  art-sync diff -m workspace -d workspace.db
  art-sync diff -m workspace -d workspace.db --patch src >changes.patch
`

const usageReset = `NAME
  art-sync reset - give up what the guest changed

SYNOPSIS
  art-sync reset [-m DIR] -d DB [--dry-run] [--force] [--name NAME] [--adopt]
                 [-q] [path...]

DESCRIPTION
  Gives up what the guest has changed at the paths in /NAME/ of DB, and below them,
  NAME being the base name of DIR: the guest has there again what the host has. A
  file with hard links is given up under all of the host's names. What lies in the
  guest's home beside the workspace stays. DIR is not changed.

  Without paths, it is all of the workspace. That is asked about on a terminal, and
  needs --force elsewhere.

FLAGS
  -m, --mount, --workspace DIR   host directory (default: the current one)
      --agent NAME               an agent of your own, whose workspace it is
  -d, --db DB                    database; no session may be using it
      --dry-run                  say what would be given up, and change nothing
      --force                    without paths, do not ask
      --name NAME                the workspace's name in DB
      --adopt                    the workspace was moved here
  -q, --quiet                    say nothing but errors

  Each long flag can be given as an environment variable: ART_DB is --db.

OUTPUT
  What is given up, as "art-sync diff" shows it.

EXAMPLES
  art-sync reset --dry-run -m workspace -d workspace.db
  art-sync reset -m workspace -d workspace.db src/main.py
`
