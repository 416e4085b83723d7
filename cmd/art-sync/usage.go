package main

// usages are the help texts, by command.
var usages = map[string]string{prog: usage, "push": usagePush, "pull": usagePull}

const usage = `NAME
  art-sync - move a workspace between a host directory and a database

SYNOPSIS
  art-sync push [flags] -d DB
  art-sync pull [flags] -d DB
  art-sync --version

COMMANDS
  push   store the host directory in the database
  pull   bring it from the database to the host

  "art push" and "art pull" run these. "art-sync COMMAND --help" tells more.

EXIT STATUS
  0  all was done
  1  an error; what could be done was done, unless the message says otherwise
  2  wrong usage

EXAMPLES
  art-sync push -m workspace -d workspace.db
  art-sync pull -m workspace -d workspace.db
`

const usagePush = `NAME
  art-sync push - store a host directory in a database

SYNOPSIS
  art-sync push [-m DIR] -d DB [--dry-run] [-q]

DESCRIPTION
  Stores files, directories and symbolic links of DIR under /NAME/ in DB, where
  NAME is the base name of DIR: with modes, owners, times and hard links. DB is
  made if it does not exist. What is equal there is left alone (size and time of
  modification tell), what only the database has stays.

  Not stored: sockets, named pipes and devices, .art/ at the top of DIR, and the
  database's own files.

FLAGS
  -m, --mount, --workspace DIR   host directory (default: the current one)
  -d, --db DB                    database
      --dry-run                  say what would be done, and change nothing
  -q, --quiet                    say nothing but errors

  Each long flag can be given as an environment variable: ART_DB is --db.

OUTPUT
  FILE /NAME/path (N bytes, ino I)
  DIR  /NAME/path (ino I)
  LINK /NAME/path -> target (ino I)

  A path with control characters is written as $'...', which a shell reads; on a
  terminal, so is one with characters that do not print.

EXAMPLES
  art-sync push -m workspace -d workspace.db
  art-sync push --dry-run -d ../workspace.db
`

const usagePull = `NAME
  art-sync pull - bring a workspace from a database to the host

SYNOPSIS
  art-sync pull [-m DIR] -d DB [--dry-run] [-q]

DESCRIPTION
  Writes what DB holds under /NAME/ into DIR, which must exist; NAME is the base
  name of DIR. Files are written beside and renamed into place, so that none is
  ever half there, and only where size, time of modification, mode or type
  differ. What only the host has stays.

  Nothing is written outside of DIR, whatever the database says: no symbolic
  link is followed. Set-user-ID and set-group-ID bits are dropped, devices are
  not made, and .art/ is left alone. Owners are set when root pulls.

FLAGS
  -m, --mount, --workspace DIR   host directory (default: the current one)
  -d, --db DB                    database; no session may be using it
      --dry-run                  say what would be done, and change nothing
  -q, --quiet                    say nothing but errors

  Each long flag can be given as an environment variable: ART_DB is --db.

OUTPUT
  FILE NAME/path (N bytes)
  DIR  NAME/path
  LINK NAME/path -> target

  A path with control characters is written as $'...', which a shell reads; on a
  terminal, so is one with characters that do not print.

EXAMPLES
  art-sync pull --dry-run -m workspace -d workspace.db
  art-sync pull -m workspace -d workspace.db
`
