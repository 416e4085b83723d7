// Command generate writes what other parts of the program say into pages, in the directory that it is run in: what pull
// holds back into art(7), and the presets into art-agents(7). It is what `go generate ./internal/packaging/man` runs.
package main

import (
	"fmt"
	"os"

	"github.com/riverlytech/art/internal/packaging/man"
)

func main() {
	for name, with := range map[string]func(string) (string, error){man.HeldPage: man.WithHeld, man.AgentsPage: man.WithAgents} {
		if err := rewrite(name, with); err != nil {
			fmt.Fprintln(os.Stderr, "generate:", err)
			os.Exit(1)
		}
	}
}

func rewrite(name string, with func(string) (string, error)) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	page, err := with(string(old))
	if err != nil || page == string(old) {
		return err
	}
	return os.WriteFile(name, []byte(page), 0o644)
}
