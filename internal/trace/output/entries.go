package output

import (
	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// Asked makes of a handler that counts what has been done one that counts what was asked for, for a trace of entries: each call
// counts as one that succeeds at once, but for those that a policy has answered.
func Asked(next trace.Handler) trace.Handler { return asked{next} }

type asked struct{ trace.Handler }

// Enter implements trace.Handler.
func (a asked) Enter(c *decode.Call) error {
	if err := a.Handler.Enter(c); err != nil {
		return err
	}
	return a.Exit(c)
}
