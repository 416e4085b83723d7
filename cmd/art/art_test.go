package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/sandbox/stage"
)

// runAsArt in the environment makes the test binary art.
const runAsArt = "ART_TEST_RUN"

func TestMain(m *testing.M) {
	switch {
	case os.Args[0] == stage.Name, os.Args[0] == stage.Stub, os.Getenv(runAsArt) != "":
		main()
	}
	os.Exit(m.Run())
}

// art returns art with args over a new workspace, in direct mode.
func art(t *testing.T, args ...string) (cmd *exec.Cmd, workspace string) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Fatal("bubblewrap is needed for this test: ", err)
	}
	workspace = filepath.Join(t.TempDir(), "ws")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), runAsArt+"=1", "ART_MOUNT="+workspace, "ART_QUIET=true", "ART_SECRET=s3cret")
	return cmd, workspace
}

// code returns the exit code that err stands for.
func code(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		command []string
		code    int
		message string
	}{
		{[]string{"true"}, 0, ""},
		{[]string{"sh", "-c", "exit 7"}, 7, ""},
		{[]string{"sh", "-c", "exit 255"}, 255, ""},
		{[]string{"sh", "-c", "kill -TERM $$"}, 143, ""},
		{[]string{"sh", "-c", "kill -KILL $$"}, 137, ""},
		{[]string{"art-no-such-command"}, 127, "art: art-no-such-command: command not found\n"},
		{[]string{"/no/such"}, 127, "art: /no/such: no such file or directory\n"},
		{[]string{""}, 127, "art: : command not found\n"},
		{[]string{"/etc/passwd"}, 126, "art: /etc/passwd: permission denied\n"},
		{[]string{"/usr"}, 126, "art: /usr: permission denied\n"},
	} {
		cmd, _ := art(t, append([]string{"--"}, test.command...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if got := code(t, cmd.Run()); got != test.code || stderr.String() != test.message {
			t.Errorf("%q: exit code %d and %q, want %d and %q", test.command, got, stderr.String(), test.code, test.message)
		}
	}
}

func TestScriptsAsAShellRunsThem(t *testing.T) {
	cmd, workspace := art(t, "./script", "a b")
	for name, text := range map[string]string{"script": "echo \"$1\"\n", "lost": "#!/no/such/interpreter\n"} {
		if err := os.WriteFile(filepath.Join(workspace, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := cmd.Output(); err != nil || string(out) != "a b\n" {
		t.Errorf("a script without an interpreter line: %q, %v", out, err)
	}
	lost, _ := art(t, "./lost")
	lost.Env = append(lost.Env, "ART_MOUNT="+workspace)
	if got := code(t, lost.Run()); got != 126 {
		t.Errorf("a script whose interpreter is missing: exit code %d", got)
	}
}

func TestStreamsAreExact(t *testing.T) {
	data := bytes.Repeat([]byte("0\x00\xff\n"), 1<<18)
	cmd, workspace := art(t, "--", "sh", "-c", "cat; cat file >&2")
	if err := os.WriteFile(filepath.Join(workspace, "file"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(data), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), data) || !bytes.Equal(errs.Bytes(), data) {
		t.Errorf("%d and %d bytes came through of %d each", out.Len(), errs.Len(), len(data))
	}
}

func TestGuestHoldsNoHostFile(t *testing.T) {
	cmd, workspace := art(t, "--", "sh", "-c", "readlink /proc/self/fd/0 /proc/self/fd/1 >&2; ls /proc/self/fd >&2; (echo no >/proc/self/fd/0) 2>/dev/null")
	path := filepath.Join(workspace, "in")
	if err := os.WriteFile(path, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(workspace, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &errs
	cmd.Run() // the exit code is that of the attempt to write
	lines := strings.Fields(errs.String())
	if len(lines) < 2 || !strings.HasPrefix(lines[0], "pipe:") || !strings.HasPrefix(lines[1], "pipe:") {
		t.Errorf("the guest's streams are %q", lines)
	}
	if got := strings.Join(lines[2:], " "); got != "0 1 2 3" { // 3 is the directory that ls reads
		t.Errorf("the guest has the descriptors %s", got)
	}
	if got, _ := os.ReadFile(path); string(got) != "content" {
		t.Errorf("the guest wrote its input: %q", got)
	}
}

func TestReaderGoesAway(t *testing.T) {
	cmd, _ := art(t, "--", "yes")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.ReadFull(out, make([]byte, 2))
	out.Close()
	if got := code(t, cmd.Wait()); got != 128+int(syscall.SIGPIPE) && got != 1 {
		t.Errorf("yes ended with %d", got)
	}
}

func TestBackgroundProcessEndsWithThePayload(t *testing.T) {
	cmd, _ := art(t, "--", "sh", "-c", "sleep 1000 & echo done")
	if out, err := cmd.Output(); err != nil || string(out) != "done\n" { // longer than the tests may last, if it waited
		t.Errorf("%q, %v", out, err)
	}
}

func TestSignalsReachThePayload(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1, syscall.SIGHUP} {
		cmd, _ := art(t, "--", "sh", "-c", "trap 'exit 42' TERM INT USR1 HUP; echo ready; while :; do sleep 0.05; done")
		ready(t, cmd)
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if got := code(t, cmd.Wait()); got != 42 {
			t.Errorf("after %v: exit code %d", sig, got)
		}
	}
}

func TestUncaughtSignalEndsThePayload(t *testing.T) {
	// A shell that waits for its child: a signal to itself alone would not end it.
	cmd, _ := art(t, "--", "sh", "-c", "echo ready; sleep 1000; true")
	ready(t, cmd)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		// Again and again: a shell that is just about to start the child waits for
		// that, which was not there yet to get the signal.
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			// One of them may come when the session has ended, and end art itself.
			status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if got := code(t, err); got != 128+int(syscall.SIGINT) && status.Signal() != syscall.SIGINT {
				t.Errorf("exit code %d", got)
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ready starts cmd and waits for its first line.
func ready(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
}

func TestKilledArtLeavesNothing(t *testing.T) {
	cmd, workspace := art(t, "--", "sh", "-c", "echo ready; while :; do date +%s%N >beat; sleep 0.02; done")
	ready(t, cmd)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	beat := filepath.Join(workspace, "beat")
	for end := time.Now().Add(2 * time.Second); ; {
		before, _ := os.ReadFile(beat)
		time.Sleep(300 * time.Millisecond)
		if after, _ := os.ReadFile(beat); bytes.Equal(before, after) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the payload lives on after art")
		}
	}
	again, _ := art(t, "--", "true")
	again.Env = append(again.Env, "ART_MOUNT="+workspace)
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("the next session: %s, %v", out, err)
	}
	if _, err := os.Lstat(filepath.Join(workspace, ".art")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the protection of the configuration stays in the workspace: %v", err)
	}
}

func TestConfigurationIsOutOfReach(t *testing.T) {
	const attack = `mkdir -p .art/config; echo '{"binds":[]}' >.art/config/binds.json; rm -rf .art; mv .art x; ln -s x .art`
	cmd, workspace := art(t, "--", "sh", "-c", attack+"; true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(workspace); err != nil || len(entries) != 0 {
		t.Errorf("without a configuration before, there is %v, %v", entries, err)
	}
	file := filepath.Join(workspace, ".art/config/binds.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	const config = `{"binds": []}`
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd, _ = art(t, "--", "sh", "-c", attack+"; true")
	cmd.Env = append(cmd.Env, "ART_MOUNT="+workspace)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != config {
		t.Errorf("the configuration is %q, %v", got, err)
	}
}

func TestGuestSeesNothingPersonal(t *testing.T) {
	cmd, _ := art(t, "--", "sh", "-c", `env; cat /proc/1/environ /proc/1/cmdline; echo; id -un; getent passwd "$(id -u)" | cut -d: -f6; pwd
		ls -A /home /run /tmp; touch /art-test 2>&1; touch "$HOME/x" /tmp/x /dev/shm/x && echo writable; grep CapEff /proc/self/status`)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	for _, bad := range []string{"s3cret", "ART_TEST", "ART_MOUNT"} {
		if strings.Contains(text, bad) {
			t.Errorf("the guest sees %q:\n%s", bad, text)
		}
	}
	for _, want := range []string{
		"ART_SANDBOX=1\n", "\nagent\n/home/agent\n/home/agent/ws\n", "/home:\nagent\n", "Read-only file system", "writable\n", "CapEff:\t0000000000000000",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the guest does not see %q:\n%s", want, text)
		}
	}
}

func TestGuestChangesNoSetting(t *testing.T) {
	// Root in a user namespace may write some of them, without any capability.
	cmd, _ := art(t, "--", "sh", "-c", "find /proc/sys -type f -writable 2>/dev/null; true")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if len(out) > 0 {
		t.Errorf("the guest can write\n%s", out)
	}
}

func TestBadInput(t *testing.T) {
	for args, want := range map[string]string{
		"-m /no/such true":      "art: open the workspace: /no/such does not exist\nart: hint: ",
		"-m / true":             "art: open the workspace: / cannot be one",
		"-m /etc/passwd true":   "art: open the workspace: /etc/passwd is not a directory\nart: hint: ",
		"-d /no/such/x.db true": "art: open the database /no/such/x.db: its directory does not exist\nart: hint: ",
		"--bogus":               "art: read the command line: there is no flag --bogus\nart: hint: see art --help\n",
		"--network off true":    "art: read the command line: --network: it is neither host nor none, and \"off\" is a single word",
		"--hide / true":         "art: hide /: ",
	} {
		cmd, _ := art(t, strings.Fields(args)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if got := code(t, cmd.Run()); got != 125 || !strings.HasPrefix(errs.String(), want) || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %q and %q, want 125 and %q", args, got, out.String(), errs.String(), want)
		}
	}
	cmd, _ := art(t, "true")
	cmd.Env = append(cmd.Env, "PATH=/no/such")
	if out, err := cmd.CombinedOutput(); code(t, err) != 125 || !strings.HasPrefix(string(out), "art: find bwrap: ") || !strings.Contains(string(out), "art: hint: install bubblewrap") {
		t.Errorf("without bubblewrap: %s, %v", out, err)
	}
}
