package session

import (
	"fmt"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
)

// Copied is where the database of a session is copied to, and how far, as JSON has it.
type Copied struct {
	URL    string  `json:"url"`
	Behind float64 `json:"behind"` // since when, in seconds, something is not copied; 0: all is
	Waits  uint64  `json:"waits"`  // how much, in bytes
	Why    string  `json:"why"`    // what keeps it from being copied, or ""
}

// CopiedOf is that of a session; nil: it is copied nowhere.
func CopiedOf(is *control.SessionInfo) *Copied {
	if is.Copied == "" {
		return nil
	}
	return &Copied{URL: is.Copied, Behind: float64(is.Copy.Behind) / 1000, Waits: is.Copy.Waits, Why: is.Copy.Why}
}

// slow is from when on it is said that a copy is behind: a second is usual.
const slow = 2

// String says so for people.
func (c *Copied) String() string {
	text := cli.Printable(c.URL)
	if c.Behind < slow {
		return text
	}
	text += fmt.Sprintf(", behind by %v", (time.Duration(c.Behind) * time.Second).Round(time.Second))
	if c.Waits > 0 {
		text += ", lacks " + cli.Bytes(int64(c.Waits))
	}
	if c.Why != "" {
		text += ": " + cli.Printable(c.Why)
	}
	return text
}
