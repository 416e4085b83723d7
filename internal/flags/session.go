package flags

var onSession = []string{"[flags] [ID]"}

const theSession = `  ID is that of a session, as "art ps" lists it. Without, it is the one in the workspace
  that the current directory lies in.

`

const theLast = `  Where none runs there, it is the last one that was in the background.

`

// sessionCommands are what art does with sessions that run.
func sessionCommands() []*Command {
	return []*Command{
		{Name: "art ps", Says: "list the sessions that run", Synopsis: []string{"[--json] [--watch] [--pending]"},
			Flags: []Flag{
				{Name: "json", Says: asJSON.Says,
					More: `Its keys are "id", "pid" (of the process of the session), "workspace", "database" (null in direct mode), "command", "started", "state" ("attached", "detached" or "ending"), "stopped", "terminal", "processes", "memory" (resident, in bytes), "cpu" (in seconds), "copied" (where the database is copied to: "url", "behind" by so many seconds, "waits", the bytes that are not there yet, and "why"; null: nowhere), and "error" where the session does not say. With --pending there is "pending", with the keys "changed", "deleted", "held", "conflicts" and "directories" of art status; null where it is not known.`},
				{Name: "pending", Says: "count what is pending in each, as art status does", More: "It takes some milliseconds for each session, and longer the more there is. In direct mode nothing ever is."},
				{Name: "watch", Says: "show it again every second, until a key is pressed"},
			}},
		{Name: "art ports", Says: "list the ports of guests that are published", Synopsis: []string{"[--json] [ID]"}, Most: 1, Words: []Offer{Sessions},
			Text: `  Lists, of all sessions that run or of one, the ports of the guest that are reached at
  127.0.0.1 of the host (--publish): the session, the port there and in the guest, whether
  something listens, the connections that are open and all that there were, and the
  workspace. "art net" shows the connections.

`,
			Flags: []Flag{{Name: "json", Says: asJSON.Says,
				More: `Its keys are "session", "workspace", "address" (of the host), "host_port", "guest_port", "listening", "open" and "connections".`}},
		},
		{Name: "art exec", Says: "run another program in a session that runs", Synopsis: []string{"[flags] [ID] [--] [command...]"}, Payload: true, Exits: AsGuest,
			Text: `  The program has what the first one of the session has: what it sees and may do, its
  user, limits and variables. It has a terminal of its own, or the streams of art.
  Without a command it is a shell. When the session ends, it is ended.

  ID is that of a session, as "art ps" lists it. Without, it is the one in the workspace
  that the current directory lies in. A word that is no session's begins the command.

`,
			Flags: []Flag{
				{Name: "env", Short: "e", Arg: "NAME[=VALUE]", Offer: Variables, Repeat: true, Says: "pass on a variable, or set one"},
				{Name: "cwd", Short: "w", Arg: "DIR", Default: "where the session began", Says: "the directory in the guest to start in",
					More: "A relative one begins at the default."},
				{Name: "interactive", Short: "i", Arg: "BOOL", Switch: true, Default: "true", Says: "a terminal for the program, if there is one"},
			},
			Notes: `EXIT STATUS
  That of the program, as of "art run"; 137 if the session has ended.

EXAMPLES
  art exec                    a shell beside the agent
  art exec -- npm test
`},
		{Name: "art attach", Says: "join the terminal of a session", Synopsis: onSession, Exits: AsGuest, Most: 1, Words: []Offer{Sessions},
			Text: theSession + `  The session goes on where it is left by the keys Ctrl-\ d, or the terminal is gone. The
  exit status is the session's, and 0 where it was left.
`,
			Flags: []Flag{
				{Name: "view", Says: "only look: nothing that is typed gets there"},
				{Name: "detach-keys", Arg: "KEYS", Default: `ctrl-\,d`, Says: "the keys that leave the session; none if empty", More: "They are single characters between commas, with ctrl- before them or not."},
			}},
		{Name: "art logs", Says: "print the output of a session in the background", Synopsis: onSession, Most: 1, Words: []Offer{Sessions},
			Text: theSession + theLast + `  Of sessions that have ended the last 20 are kept, and of each the last 4 to 8 MB.
`,
			Flags: []Flag{{Name: "follow", Short: "f", Says: "go on until the session ends"}}},
		{Name: "art kill", Says: "send the command of a session a signal", Synopsis: onSession, Most: 1, Words: []Offer{Sessions},
			Text: theSession + `  SIGKILL ends the session with all that is in it. A
  command on a terminal that ignores SIGTERM, as shells do, is sent SIGHUP too.
  Where the command goes on for a second after SIGTERM or SIGHUP, art says so.
`,
			Flags: []Flag{{Name: "signal", Short: "s", Arg: "SIGNAL", Default: "TERM", Says: "which one, by its name or number"}}},
		{Name: "art grant", Says: "let a session that runs reach more of the network", Synopsis: []string{"[--once | --session | --always | --deny] [--id ID] NAME..."}, Least: 1, Most: Any,
			Text: `  NAME is a name, with a port or not, or another rule of --network: *.example.org,
  host:5432, an address. It holds at once, and what waits for an answer goes on. What
  your settings deny stays denied.

`,
			Flags: []Flag{
				{Name: "once", Says: "for one connection"},
				{Name: "session", Says: "until the session ends, which is the default"},
				{Name: "always", Says: "also for later sessions, by your settings",
					More: "It is written into the file of yours that says which names this session reaches, and refused where no such file does: where --network says it, a preset or the workspace's settings."},
				{Name: "deny", Says: "refuse what waits for an answer, and what asks for it later"},
				{Name: "id", Arg: "ID", Offer: Sessions, Default: "the session of this workspace", Says: `the session, as "art ps" lists it`},
			},
			Notes: `EXAMPLES
  art grant registry.npmjs.org
  art grant --once example.org:443
`},
		{Name: "art grants", Says: "show what waits to be granted on the network, and answer", Synopsis: onSession, Most: 1, Words: []Offer{Sessions},
			Text: theSession + `  Shows what waits for an answer ("ask" in settings), what was denied lately, and what
  was granted.
`,
			Flags: []Flag{
				{Name: "watch", Short: "w", Says: "show it live on a terminal, and answer by a key",
					More: `The keys are shown: "o" grants the line that is marked for one connection, "s" for the session, "a" for later ones too, and "d" denies it; the arrows mark another one, and "q" ends. A key does nothing for half a second after the mark has moved by itself.`},
				{Name: "json", Says: asJSON.Says,
					More: `Its keys are "state" ("waiting", "denied" or "granted"), "since", "name", "looks" (where the name is one of another script), "port" (0 where it is not known), "rule" (what was granted, or would allow it), "scope" ("once", "session", "always" or "denied", of what was granted), "why" it was denied, "pid" and "command" of the program, or of who has granted it.`},
			}},
		{Name: "art wait", Says: "wait for the end of a session", Synopsis: onSession, Exits: AsGuest, Most: 1, Words: []Offer{Sessions},
			Text: theSession + theLast + `  The exit status is the session's, also of one that has ended, as long as its log
  is kept.
`},
	}
}
