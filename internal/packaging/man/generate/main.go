// Command generate writes the table of what pull holds back into art(7), in the directory that it is
// run in. It is what `go generate ./internal/packaging/man` runs.
package main

import (
	"fmt"
	"os"

	"github.com/riverlytech/art/internal/packaging/man"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	old, err := os.ReadFile(man.HeldPage)
	if err != nil {
		return err
	}
	page, err := man.WithHeld(string(old))
	if err != nil || page == string(old) {
		return err
	}
	return os.WriteFile(man.HeldPage, []byte(page), 0o644)
}
