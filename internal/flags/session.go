package flags

// sessionCommands are what art does with sessions that run.
func sessionCommands() []*Command {
	return []*Command{
		{Name: "art ps", Says: "list the sessions that run", Synopsis: []string{"[--json] [--watch]"},
			Flags: []Flag{
				{Name: "json", Says: asJSON.Says,
					More: `Its keys are "id", "pid" (of the process of the session), "workspace", "database" (null in direct mode), "command", "started", "state" ("attached", "detached" or "ending"), "stopped", "terminal", "processes", "memory" (resident, in bytes), "cpu" (in seconds), and "error" where the session does not say.`},
				{Name: "watch", Says: "show it again every second, until a key is pressed"},
			}},
	}
}
