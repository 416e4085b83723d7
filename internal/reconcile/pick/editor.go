package pick

import (
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// Editor lets the user edit a hunk, in the editor that git would start.
func Editor(text string) (string, error) {
	editor := "vi"
	for _, name := range []string{"EDITOR", "VISUAL", "GIT_EDITOR"} {
		if e := os.Getenv(name); e != "" {
			editor = e
		}
	}
	f, err := os.CreateTemp("", "art-hunk-*.diff")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", err
	}
	cmd := exec.Command("sh", "-c", editor+` "$@"`, editor, f.Name())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if tty, err := os.OpenFile("/dev/tty", unix.O_RDWR, 0); err == nil {
		defer tty.Close()
		cmd.Stdin = tty // answers may come from elsewhere
	}
	if err := cmd.Run(); err != nil {
		return "", err
	}
	data, err := os.ReadFile(f.Name())
	return string(data), err
}
