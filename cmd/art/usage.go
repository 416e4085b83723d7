package main

const usage = `NAME
  art - run a program that sees this machine and can change only its workspace

SYNOPSIS
  art run [flags] [--] [command...]
  art claude | codex | gemini | opencode | aider | mini [argument...]
  art diff | pull | push | reset [flags] [path...]
  art status | log | list | rm [flags]
  art [flags] [--] [command...]
  art agent new | ls | show | rm [flags] [NAME]
  art home ls | rm | seed | diff [flags] [NAME [path...]]
  art config [flags]
  art trust [--revoke] [--dry-run] [--json] [DIR]
  art presets [--json | --schema] [check NAME]
  art doctor [--attack] [--json] [flags]

DESCRIPTION
  art runs a command, or a shell, as the user agent in a sandbox. It can use every
  tool that is installed here, read-only. /home/agent is its home, and
  /home/agent/NAME is the workspace, NAME being the name of the host directory.

  With run, the workspace is read from the host, and everything the command writes in
  /home/agent goes into an SQLite database that art keeps for the workspace; the host
  does not change. diff shows what the command changed, pull brings that to the host,
  push brings what changed on the host into the database, and reset gives up what the
  command changed. "art pull --help" tells more. In a directory below a workspace, all of these mean that workspace.

  status shows what is pending, log which sessions there were, list all databases, and
  rm removes one. "art status --help" tells more.

  With claude, or another agent that art has a preset of, it is "art run" with what
  that agent needs: art finds it in your home, too, and passes the variables with its key.

  With --db, the same goes for the database DB. With neither, the command works on the
  host directory itself, and the rest of its home is gone afterwards.

  home ls lists the homes that --home names, and rm removes some. home seed copies files
  of your own home into one, once, and home diff shows what is different there since.
  --force has rm ask nothing, and seed copy logins and replace what is there; --patch
  prints a unified diff.

  presets lists the agents that art can be told to run by name, and where they are;
  with check, it looks what one finds on this host (exit status 1 if it would not run).

  agent new makes an agent of your own, which "art NAME" runs: settings, variables, a home
  and a workspace of its own; --preset is what it builds on. agent ls lists these, show
  shows what holds for one, and rm removes it; with --force also what is in its workspace.
  From wherever you are, diff, pull, status and the like take --agent NAME for its workspace.

  doctor looks whether this host has what a session with these flags needs, and says
  what to do about what it lacks; with --attack it tries to break out of one in
  every way it knows, and shows a table of what is enforced (exit status 1 if
  something fails, or breaks out). --json prints an object a line.

  trust shows what the settings of the workspace DIR ask for that yours do not allow,
  and allows it, until they change. --dry-run only shows it, --revoke takes it back.

FLAGS
  -m, --mount DIR          the workspace (default: the current directory)
  -d, --db DB              the database that takes what is written
      --mode MODE          direct or overlay, where no database is named (default:
                           direct; run is overlay)
      --name NAME          what the workspace is called in the guest (default: as the
                           directory)
      --home NAME          a home that sessions in other workspaces share (default: that
                           of the preset)
      --agent NAME         an agent of your own; "art NAME" takes it, too
      --adopt              the workspace was moved here
  -i, --interactive=BOOL   a terminal for the command, if there is one (default: true)
      --network MODE       host or none (default: host, or what a sandbox.json says)
      --path WHERE         home (default), or host: the workspace is at its own path
                           on the host too, and the command starts there
  -e, --env NAME[=VALUE]   pass on or set a variable; may be repeated
      --preset NAME        what the agent NAME needs; "art NAME" takes it, too
      --see PATH           show a path of a home, read-only; may be repeated
      --hide PATH          hide a path of the host; may be repeated
      --allow CALLS        system calls that are refused otherwise: io_uring, keys,
                           namespaces (sandboxes within: browsers, containers), perf,
                           sockets or userfaultfd; may be repeated
      --trace              trace system calls
      --trace-log FILE     where the trace goes (default: standard error)
      --trace-syscalls LIST
                           the system calls to trace, with commas (default: all)
      --trace-format FORMAT
                           text, json, or at the end a summary or a report
                           (default: text)
  -q, --quiet              say nothing but errors
      --version            print the version

  Every flag can be given as an environment variable: ART_DB, ART_NETWORK, ...
  What stands on the command line counts more.

FILES
  DIR/.art/config/binds.json
      {"binds": [{"host": "/data", "guest": "/opt/data", "readonly": true}]}
      More paths for the command to see; another spelling of mounts.
  $XDG_CONFIG_HOME/art/sandbox.json, DIR/.art/config/sandbox.json
      Settings of the user and of the workspace, which may narrow the user's, and with
      "art trust" widen them: network, env, mounts, see, tools, own, hide, allow, limits;
      in the user's also workspace, mode, and db, the directory of the databases. "art config"
      shows what comes of them (--json: an object a line), and "art config --schema" a
      JSON schema for editors. They are always read from the host.
  $XDG_CONFIG_HOME/art/presets/NAME.json
      Presets of your own, for "art NAME" ("art presets --schema", man art-config).
  $XDG_STATE_HOME/art/trust
      What "art trust" remembers.
  $XDG_STATE_HOME/art/NAME-HASH.db
      The databases of workspaces.
  $XDG_DATA_HOME/art/homes/NAME
      What --home names.
  $XDG_CONFIG_HOME/art/agents/NAME/sandbox.json, .env, .env.keys
      The settings of an agent of your own: all of the above but db, preset, and
      "enabled": false, which runs it without a sandbox.
  $XDG_DATA_HOME/art/agents/NAME/workspace
      Its workspace, where its settings name no other.

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
`
