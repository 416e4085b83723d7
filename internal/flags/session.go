package flags

var onSession = []string{"[flags] [ID]"}

const theSession = `  ID is that of a session, as "art ps" lists it. Without, it is the one in the workspace
  that the current directory lies in.

`

// sessionCommands are what art does with sessions that run.
func sessionCommands() []*Command {
	return []*Command{
		{Name: "art ps", Says: "list the sessions that run", Synopsis: []string{"[--json] [--watch]"},
			Flags: []Flag{
				{Name: "json", Says: asJSON.Says,
					More: `Its keys are "id", "pid" (of the process of the session), "workspace", "database" (null in direct mode), "command", "started", "state" ("attached", "detached" or "ending"), "stopped", "terminal", "processes", "memory" (resident, in bytes), "cpu" (in seconds), and "error" where the session does not say.`},
				{Name: "watch", Says: "show it again every second, until a key is pressed"},
			}},
		{Name: "art kill", Says: "send the command of a session a signal", Synopsis: onSession, Most: 1, Words: []Offer{Sessions},
			Text: theSession + `  SIGKILL ends the session with all that is in it.
`,
			Flags: []Flag{{Name: "signal", Short: "s", Arg: "SIGNAL", Default: "TERM", Says: "which one, by its name or number"}}},
		{Name: "art wait", Says: "wait for the end of a session", Synopsis: onSession, Most: 1, Words: []Offer{Sessions},
			Text: theSession + `  The exit status is the session's.
`},
	}
}
