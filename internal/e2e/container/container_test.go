// Package container tests sessions in a container of podman, as docs/examples/Containerfile says to run it. The container shows the files of
// this machine, so that no image has to come from anywhere.
package container

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const examples = "../../../docs/examples/"

// inContainer runs a script as the user 1000, with some flags of podman's, in a workspace whose path it gets as its first argument.
func inContainer(t *testing.T, script string, flags ...string) string {
	t.Helper()
	if os.Getenv("ART_TEST_CONTAINER") == "" {
		t.Skip("left out: make test-container installs podman, and runs it")
	}
	st, err := os.Stat("/dev/fuse")
	if err == nil && st.Mode().Perm() != 0o666 { // the container has it as this machine does
		err = os.Chmod("/dev/fuse", 0o666)
		t.Cleanup(func() { os.Chmod("/dev/fuse", st.Mode().Perm()) })
	}
	if err != nil {
		t.Fatal(err)
	}
	bin := os.Getenv("ART_TEST_BIN")
	args := append([]string{"--runtime", "runc", "--storage-driver", "vfs", "run", "--rm", "--network", "host", "--user", "1000:1000",
		"--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"}, flags...) // which a container within one may not raise
	args = append(args, "--env", "PATH="+bin+":/usr/bin:/bin", "--env", "HOME=/tmp/agent", "--rootfs", "/:O", "sh", "-c",
		"set -e; mkdir -p /tmp/agent/project; cd /tmp/agent/project; "+script)
	out, err := exec.Command("podman", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// documented returns the flags that the example has for a container.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(examples + "Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)--cap-drop ALL|--security-opt (no-new-privileges|unmask=ALL)|--device /dev/fuse`).FindAllString(string(text), -1)
	if len(flags) != 4 {
		t.Fatalf("the example has the flags %q", flags)
	}
	return strings.Fields(strings.Join(flags, " "))
}

func TestSession(t *testing.T) {
	out := inContainer(t, `art doctor --container || true; echo one >a; art run -q -- sh -c 'echo two >>a; echo b >b'; cat a; art diff || true; art pull -q; cat a b`, documented(t)...)
	if strings.Contains(out, "FAIL") || !strings.HasSuffix(out, "one\nM a\nA b\none\ntwo\nb\n") {
		t.Errorf("a session in a container says\n%s", out)
	}
}

// What it lacks without them, the doctor says, with the flags that give it.
func TestLacks(t *testing.T) {
	out := inContainer(t, "art doctor --container || true")
	for _, flag := range []string{"podman:     --device /dev/fuse", "podman:     --security-opt unmask=ALL"} {
		if !strings.Contains(out, flag) {
			t.Errorf("nothing names %q:\n%s", flag, out)
		}
	}
}

// The Pod is of the same image: user, directories, and what it is given.
func TestPod(t *testing.T) {
	pod, err := os.ReadFile(filepath.Join(examples, "pod.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(examples + "Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"1000", "/project", "/home/agent/.local/state/art", "sh, agent.sh"} {
		in := strings.ReplaceAll(word, ", ", " ")
		if !strings.Contains(string(pod), word) || !strings.Contains(string(image), in) {
			t.Errorf("pod.yaml and Containerfile do not both have %q", word)
		}
	}
	for _, line := range []string{"hostUsers: false", "procMount: Unmasked", "squat.ai/fuse: 1", "drop: [ALL]", "name: ART_DB\n          value: s3://"} {
		if !strings.Contains(string(pod), line) {
			t.Errorf("pod.yaml lacks %q", line)
		}
	}
}
