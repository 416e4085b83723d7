package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Confirm asks a question on w, and says whether it was answered with yes.
func Confirm(w io.Writer, answer io.Reader, question string) bool {
	fmt.Fprintf(w, "%s [y/N] ", Printable(question))
	line, _ := bufio.NewReader(answer).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}
