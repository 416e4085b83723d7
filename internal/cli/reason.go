package cli

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Reason returns the reason alone of an error that also says what failed: the caller's own text says that.
func Reason(err error) error {
	var path *os.PathError
	var command *exec.Error
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &command):
		return command.Err
	}
	return err
}
