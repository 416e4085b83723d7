// Package clients runs network programs as they are installed, without a proxy's variables or art's, in sessions that may reach one
// name: each reaches it and is refused another, over both wires that a session's frames can take, as root and as an ordinary user.
// `make test-clients` installs the programs, and runs this, which takes root: it makes a network, servers and a device of its own.
package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What every client prints when it has reached a server.
const greeting = "greetings from the host"

// The names: both lead to the same servers, and rules allow one.
const allowed, denied = "good.example", "bad.example"

// limit bounds one run: a refusal is to come at once, and the slowest client starts a browser.
const limit = 60 * time.Second

// A client is a program, in a session's directory that holds what setup has made. {host} is the name that it asks.
type client struct {
	name, script string
}

var clients = []client{
	{"curl", `curl -sS --cacert ca.pem https://{host}/`},
	{"git over https", `git -c http.sslCAInfo=ca.pem clone -q https://{host}/git/greeting.git clone && cat clone/README`},
	{"git over ssh", `git -c core.sshCommand="ssh -i key -o UserKnownHostsFile=known_hosts -o BatchMode=yes" clone -q ssh://root@{host}{repository} clone && cat clone/README`},
	{"npm", `npm install --cafile ca.pem --fetch-retries 0 --no-audit --no-fund --prefix npm --registry https://{host}/npm/ greeting >&2 && cat npm/node_modules/greeting/README`},
	{"pip", `python3 -m venv venv && venv/bin/pip install -q --disable-pip-version-check --retries 0 --cert ca.pem -i https://{host}/pip/ greeting && venv/bin/python -c 'import greeting'`},
	{"cargo", `cd cargo && export CARGO_HOME=$PWD/home CARGO_NET_RETRY=0 CARGO_HTTP_CAINFO=$PWD/../ca.pem CARGO_REGISTRIES_TEST_INDEX=https://{host}/git/index.git &&
		cargo fetch -q && cat home/registry/src/*/greeting-1.0.0/README`},
	{"go mod download", `export SSL_CERT_FILE=ca.pem GOPROXY=https://{host}/go GOSUMDB=off GOTOOLCHAIN=local GOFLAGS=-modcacherw GOMODCACHE=$PWD/go &&
		{go} mod download greeting.example/greeting@v1.0.0 && cat go/greeting.example/greeting@v1.0.0/README`},
	{"Node's fetch", `NODE_EXTRA_CA_CERTS=ca.pem node -e 'fetch("https://{host}/").then(r => r.text()).then(t => console.log(t), e => { console.error(e); process.exit(1) })'`},
	{"a JVM", `java -Djavax.net.ssl.trustStore=trust.p12 -Djavax.net.ssl.trustStorePassword=changeit Fetch.java https://{host}/`},
	{"a static program of Go", `SSL_CERT_FILE=ca.pem ./fetch https://{host}/`},
	{"Python's requests", `python3 -c 'import requests; print(requests.get("https://{host}/", verify="ca.pem").text)'`},
	{"Chromium", `chromium --headless --no-sandbox --disable-gpu --user-data-dir=$PWD/chromium --ignore-certificate-errors --dump-dom https://{host}/`},
}

// TestMain starts this program again in a network and a mount namespace of their own.
func TestMain(m *testing.M) {
	if os.Getenv("ART_TEST_CLIENTS") == "" {
		os.Exit(m.Run())
	}
	if os.Getuid() != 0 {
		fmt.Fprintln(os.Stderr, "clients: not root: the servers' network and the device are made by root: run sudo make test-clients")
		os.Exit(1)
	}
	if os.Getenv("ART_TEST_CLIENTS_WITHIN") == "" {
		cmd := exec.Command("unshare", append([]string{"-nm", "--propagation", "private", os.Args[0]}, os.Args[1:]...)...)
		cmd.Env = append(os.Environ(), "ART_TEST_CLIENTS_WITHIN=1")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			fmt.Fprintln(os.Stderr, "clients:", err)
		}
		os.Exit(cmd.ProcessState.ExitCode())
	}
	os.Exit(m.Run())
}

// TestClients first has each client reach the other name with the host's network, so that what refuses it after that is art.
func TestClients(t *testing.T) {
	if os.Getenv("ART_TEST_CLIENTS") == "" {
		t.Skip("left out: make test-clients installs what this needs, and runs it")
	}
	h := newHost(t)
	users := []struct {
		name string
		id   uint32
	}{{"root", 0}, {"user", 65534}}
	for _, u := range users {
		t.Run(u.name, func(t *testing.T) {
			s := h.session(t, u.id)
			for _, c := range clients {
				out, took, err := s.run(c, denied, "host")
				if err != nil || !strings.Contains(out, greeting) {
					t.Fatalf("%s does not reach a name of the host's network in %v: %v\n%s", c.name, took, err, out)
				}
			}
			for _, mode := range []uint32{0o666, 0o600} {
				t.Run(fmt.Sprintf("%#o", mode), func(t *testing.T) {
					h.device(t, mode)
					for _, c := range clients {
						t.Run(c.name, func(t *testing.T) {
							out, reached, err := s.run(c, allowed, allowed)
							if err != nil || !strings.Contains(out, greeting) {
								t.Errorf("it does not reach an allowed name in %v: %v\n%s", reached, err, out)
							}
							out, refused, err := s.run(c, denied, allowed)
							if strings.Contains(out, greeting) || refused >= limit {
								t.Errorf("it is not refused another name, or not at once: after %v: %v\n%s", refused, err, out)
							}
							t.Logf("reached in %.1f s, refused in %.1f s", reached.Seconds(), refused.Seconds())
						})
					}
				})
			}
		})
	}
}

// A session is what one user's sessions share.
type session struct {
	id         uint32
	dir        string
	repository string
	count      int
}

// run has a client ask for a name, in a directory of its own and with art's network as said.
func (s *session) run(c client, name, network string) (out string, took time.Duration, err error) {
	s.count++
	work := filepath.Join(s.dir, strconv.Itoa(s.count))
	if out, err := exec.Command("cp", "-r", "--preserve=mode,ownership", filepath.Join(s.dir, "kit"), work).CombinedOutput(); err != nil {
		return string(out), 0, err
	}
	defer os.RemoveAll(work)
	goTool, err := exec.LookPath("go")
	if err != nil {
		return "", 0, err
	}
	if goTool, err = filepath.EvalSymlinks(goTool); err != nil {
		return "", 0, err
	}
	script := strings.NewReplacer("{host}", name, "{repository}", s.repository, "{go}", goTool).Replace(c.script)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(os.Getenv("ART_TEST_BIN"), "art"), "-q", "-m", work, "--network", network, "--", "sh", "-c", script)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(s.dir, "home"), "LANG=C.UTF-8"}
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: s.id, Gid: s.id}}
	cmd.WaitDelay = time.Second
	begun := time.Now()
	text, err := cmd.CombinedOutput()
	return string(text), time.Since(begun), err
}
