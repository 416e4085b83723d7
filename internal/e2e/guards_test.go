package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guard is one that keeps a guest which reaches names from the rest of the network: text of the source, and what there is without it.
type guard struct {
	file, text, without string
}

var (
	guardAddress = guard{"internal/netgate/gate.go", "case p.rules.Named(a, port) || p.rules.Address(a, port) && !g.isOwn(a):", "case true:"}
	guardKnown   = guard{"internal/netgate/dns.go", "|| !g.knowsName(name)", ""}
	guardName    = guard{"internal/netgate/dial.go", "if !p.rules.Name(name, port) {", "if false {"}
	guardPublic  = guard{"internal/netgate/dial.go", "if p.rules.At(name, a, port) &&", "if"}
	guardOwn     = guard{"internal/netgate/dial.go", "(!netrule.Public(a) || !slices.Contains(own, a) || p.rules.Named(a, port))", "true"}
	guardFirst   = guard{"internal/netgate/carry.go", `if other == "" && s.err == nil {`, "if true {"}
	guardKind    = guard{"internal/netgate/dns.go", "if q.Type != dnsmessage.TypeA && q.Type != dnsmessage.TypeAAAA {", "if false {"}
	guardClass   = guard{"internal/netgate/dns.go", "case question.Class != dnsmessage.ClassINET:", "case false:"}
	guardOpcode  = guard{"internal/netgate/dns.go", "case header.OpCode != 0:", "case false:"}
	guardHost    = guard{"internal/sshgate/agent.go", "case !c.g.knows(key):", "case false:"}
	guardSession = guard{"internal/sshgate/agent.go", "if err := key.Verify(b.Session, &sig); err != nil {", "if false {"}
	guardForward = guard{"internal/sshgate/agent.go", "case b.Forwarding:", "case false:"}
	guardUnbound = guard{"internal/sshgate/agent.go", "case c.session == nil:", "case false:"}
	guardOther   = guard{"internal/sshgate/agent.go", "case !bytes.Equal(login.Session, c.session):", "case false:"}
	guardLogin   = guard{"internal/sshgate/agent.go", `case err != nil, login.Type != userauthRequest, login.Service != "ssh-connection", !login.Signed, !bytes.Equal(login.Key, key.Marshal()):`, "case err != nil:\n\t\treturn nil\n\tcase false:"}
	guardAdd     = guard{"internal/sshgate/agent.go", "func (c *conn) Add(agent.AddedKey) error { return errNotOffered }", "func (c *conn) Add(k agent.AddedKey) error { return c.g.own.Add(k) }"}
	guardRemove  = guard{"internal/sshgate/agent.go", "func (c *conn) Remove(ssh.PublicKey) error { return errNotOffered }", "func (c *conn) Remove(k ssh.PublicKey) error { return c.g.own.Remove(k) }"}
	guardLock    = guard{"internal/sshgate/agent.go", "func (c *conn) Lock([]byte) error { return errNotOffered }", "func (c *conn) Lock(p []byte) error { return c.g.own.Lock(p) }"}
	guardUnlock  = guard{"internal/sshgate/agent.go", "func (c *conn) Unlock([]byte) error { return errNotOffered }", "func (c *conn) Unlock(p []byte) error { return c.g.own.Unlock(p) }"}
	guardExtend  = guard{"internal/sshgate/agent.go", "return nil, agent.ErrExtensionUnsupported", "return []byte{29}, nil"}
	guardUDP     = guard{"internal/netgate/gate.go", "\treturn false\n}\n\n// silent", "\treturn true\n}\n\n// silent"}
)

// An attempt that fails proves a guard only if it succeeds without that. Each of these is taken out of a copy of art-net, in a network of
// the test's own whose host has an address for everything.
func TestNetworkGuards(t *testing.T) {
	if os.Getenv("ART_TEST_LONG") == "" || isClone {
		t.Skip("it builds art-net again and again")
	}
	for _, c := range []struct {
		guards   []guard
		succeeds []string
	}{
		{nil, nil},
		{[]guard{guardAddress}, []string{
			"connect to an address of the host", "connect to an address of the host as IPv6", "connect to what clouds tell their machines",
			"connect to another resolver", "connect to another resolver by TLS", "connect to another resolver by HTTPS",
			"connect to another resolver as IPv6",
			"connect to the gateway", "connect to an address of no name",
		}},
		{[]guard{guardUDP}, []string{"send to another resolver", "send by QUIC", "send to an address of the host"}},
		{[]guard{guardKnown}, []string{"ask for the address of another name over TCP"}},
		{[]guard{guardKnown, guardKind}, []string{
			"ask for text of another name", "ask for anything of another name", "ask for a whole zone", "ask for the name of an address",
		}},
		{[]guard{guardKnown, guardKind, guardClass}, []string{"ask what the resolver is"}},
		{[]guard{guardKnown, guardKind, guardOpcode}, []string{"change a zone"}},
		{[]guard{guardKnown, guardName}, []string{"find the host by the resolver"}},
		{[]guard{guardKnown, guardName, guardPublic}, []string{"find what clouds tell by the resolver"}},
		{[]guard{guardHost}, []string{"have a login signed to a host of one's own"}},
		{[]guard{guardSession}, []string{"have a login signed to a host that says nothing"}},
		{[]guard{guardHost, guardForward}, []string{"forward the agent to a host of one's own"}},
		{[]guard{guardUnbound, guardOther}, []string{"have a login signed without a host"}},
		{[]guard{guardUnbound, guardLogin}, []string{"have a text signed", "have a file signed"}},
		{[]guard{guardAdd, guardRemove, guardLock, guardUnlock, guardExtend}, []string{"add a key to the agent", "lock the agent", "ask the agent what else it can"}},
	} {
		var without []string
		for _, g := range c.guards {
			without = append(without, g.text)
		}
		t.Run(strings.Join(without, " and "), func(t *testing.T) {
			table := attackWithout(t, c.guards)
			got := map[string]bool{}
			for _, row := range regexp.MustCompile(`(?m)^  (.*\S) +(?:fails|succeeds) +succeeds +succeeds$`).FindAllStringSubmatch(table, -1) {
				got[row[1]] = true
			}
			for _, name := range c.succeeds {
				if !got[name] {
					t.Errorf("nobody can %s:\n%s", name, table)
				}
			}
			if len(c.guards) == 0 && len(got) > 0 {
				t.Errorf("with all guards one can %v", got)
			}
		})
	}
}

// unitGuards are guards that tests of packages prove: without each, the test that makes the attempt fails.
var unitGuards = []struct {
	guard
	attempt, pkg, test string
}{
	{guardFirst, "TLS for another name, a request for another host, a proxy's CONNECT", "netgate", "TestFirst"},
	{guardPublic, "a name that leads to a private address by another name, or since it was looked up", "netgate", "TestWhereNamesLead"},
	{guardOwn, "a name at a public address of the host's own", "netgate", "TestOwnAddress"},
	{guardKnown, "a name that no rule allows", "netgate", "TestRefusedQuestions"},
	{guard{"internal/netgate/dns.go", "name != asked ||", ""}, "the same name in another form", "netgate", "TestOtherForms"},
	{guard{"internal/netgate/gate.go", "\tif name == netrule.Host && p.rules.Name(name, port) {", "\tif name == netrule.Host {"}, "another port of the host's", "netgate", "TestOtherPorts"},
	{guard{"internal/netrule/public.go", "a = a.Unmap()\n\tif a.Zone", "if a.Zone"}, "a private address as IPv6", "netrule", "TestPublic"},

	{guard{"internal/netsecret/netsecret.go", `if asked := strings.TrimSuffix(strings.ToLower(hello.ServerName), "."); asked != "" && asked != c.name {`, `if asked := hello.ServerName; false {`}, "another host by the name in TLS", "netsecret", "TestRefused"},
	{guard{"internal/netsecret/request.go", `if host != "" && !c.is(host) {`, "if false {"}, "another host by the request", "netsecret", "TestRefused"},
	{guard{"internal/netsecret/request.go", "if r.Method == http.MethodConnect {", "if false {"}, "through the host as a proxy", "netsecret", "TestRefused"},
	{guard{"internal/netsecret/request.go", "if !found {\n\t\t\tcontinue\n\t\t}\n\t\tif !slices.ContainsFunc(hosts, func(h control.NetSecretHost) bool { return goesWith(&h, r) }) {", "if !found {\n\t\t\tcontinue\n\t\t}\n\t\tif false {"}, "another method or path", "netsecret", "TestLimits"},
	{guard{"internal/netsecret/request.go", "if clean := path.Clean(p); clean != p && clean+\"/\" != p ||", "if clean := path.Clean(p); clean == \"\" ||"}, "a path with ..", "netsecret", "TestLimits"},
	{guard{"internal/netsecret/request.go", `strings.Contains(p, ";") ||`, ""}, "a path with parameters", "netsecret", "TestLimits"},
	{guard{"internal/netsecret/request.go", "name := http.CanonicalHeaderKey(s.Header)", "name := http.CanonicalHeaderKey(s.Header)\n\t\tfor other := range r.Header {\n\t\t\tname = other\n\t\t}"}, "another header", "netsecret", "TestHeader"},
	{guard{"internal/netsecret/answer.go", "s := &scrubber{from: r.Body, pairs: x.pairs}", "s := &scrubber{from: r.Body}"}, "an echo in the answer", "netsecret", "TestHeader"},
	{guard{"internal/netsecret/scrub.go", "func scrubHeader(h http.Header, pairs []pair) {", "func scrubHeader(h http.Header, pairs []pair) {\n\treturn"}, "an echo in a header of the answer", "netsecret", "TestHeader"},
	{guard{"internal/netsecret/answer.go", `if !strings.EqualFold(encoding, "identity") &&`, `if strings.EqualFold(encoding, "none") &&`}, "an echo that is packed", "netsecret", "TestPacked"},
	{guard{"internal/netsecret/answer.go", "func (w *writer) WriteHeader(code int) {\n\tscrubHeader(w.Header(), w.pairs)", "func (w *writer) WriteHeader(code int) {"}, "an echo before the answer", "netsecret", "TestEarlyHints"},
	{guard{"internal/netsecret/request.go", "maps.DeleteFunc(out.Header, isOther)", "maps.DeleteFunc(out.Header, func(string, []string) bool { return false })"}, "another method by a header", "netsecret", "TestNames"},
	{guard{"internal/netsecret/request.go", "case e.requests <- struct{}{}:\n\t\tdefer func() { <-e.requests }()", "case make(chan bool, 1) <- true:"}, "requests without end", "netsecret", "TestMostRequests"},

	{guard{"internal/sshgate/agent.go", "case !c.g.knows(key):", "case false:"}, "a login to another host", "sshgate", "TestBind"},
	{guard{"internal/sshgate/agent.go", "if err := key.Verify(b.Session, &sig); err != nil {", "if false {"}, "a session that no host has signed", "sshgate", "TestBind"},
	{guard{"internal/sshgate/agent.go", "case b.Forwarding:", "case false:"}, "a forwarded agent", "sshgate", "TestBind"},
	{guard{"internal/sshgate/agent.go", "case c.session != nil:", "case false:"}, "a second session", "sshgate", "TestBind"},
	{guard{"internal/sshgate/agent.go", "!bytes.Equal(login.Session, c.session):", "false:"}, "another session", "sshgate", "TestLogin"},
	{guardLogin, "a file or a commit", "sshgate", "TestLogin"},
	{guard{"internal/sshgate/agent.go", "if !slices.ContainsFunc(keys, func(k *agent.Key) bool { return bytes.Equal(k.Marshal(), key.Marshal()) }) {", "if len(keys) > 99 {"}, "another key", "sshgate", "TestLogin"},
	{guard{"internal/sshgate/agent.go", "func (c *conn) Add(agent.AddedKey) error { return errNotOffered }", "func (c *conn) Add(k agent.AddedKey) error { return c.g.own.Add(k) }"}, "a key that is added", "sshgate", "TestLogin"},
	{guardExtend, "another extension", "sshgate", "TestBind"},
	{guard{"internal/sshgate/agent.go", "return check.CheckHostKey(address, nil, certificate) == nil", "return check.CheckHostKey(address, nil, certificate) != errNotOffered"}, "a certificate of another host, or of nobody's", "sshgate", "TestCertificates"},
}

// TestUnitGuards takes each out of a copy of its package.
func TestUnitGuards(t *testing.T) {
	if os.Getenv("ART_TEST_LONG") == "" || isClone {
		t.Skip("it builds packages again and again")
	}
	for _, c := range unitGuards {
		t.Run(c.attempt, func(t *testing.T) {
			cmd := exec.Command("go", "test", "-short", "-vet=off", "-overlay", overlayWithout(t, t.TempDir(), []guard{c.guard}), "-timeout", "60s", "-run", "^"+c.test+"$", "./internal/"+c.pkg)
			cmd.Dir = repo
			out, err := cmd.CombinedOutput()
			if text := string(out); err == nil || !strings.Contains(text, "--- FAIL: "+c.test) && !strings.Contains(text, "panic: test timed out") {
				t.Errorf("without %q %s passes: %v\n%s", c.text, c.test, err, text)
			}
		})
	}
}

// attackWithout returns the table of art doctor --attack with guards taken out.
func attackWithout(t *testing.T, guards []guard) string {
	t.Helper()
	dir := t.TempDir()
	overlay := overlayWithout(t, dir, guards)
	if err := os.Mkdir(filepath.Join(dir, "ws"), 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-overlay", overlay,
		"-ldflags", "-X github.com/riverlytech/art/internal/version.Version=e2e -X github.com/riverlytech/art/libexec.Dir=/nonexistent", "-o", dir+"/", "./cmd/...")
	build.Dir, build.Env = repo, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const script = `
ip link set lo up
for a in 192.0.2.53 169.254.169.254 23.23.23.1 198.19.200.9 198.18.0.1; do ip route add local $a/32 dev lo; done
ip route add default dev lo src 23.23.23.1
cat >hosts <<end
127.0.0.1 localhost metadata.google.internal
end
mount --bind hosts /etc/hosts
python3 - <<end &
import re, socket, time
for a, p in ('192.0.2.53', 53), ('192.0.2.53', 853), ('192.0.2.53', 443), ('169.254.169.254', 80):
    s = socket.socket(); s.bind((a, p)); s.listen(100); globals()['s' + str(p)] = s
held = {}
while True: # what listens on localhost does so at addresses of no name too
    time.sleep(0.05)
    for line in open('/proc/net/tcp'):
        m = re.match(r' *[0-9]+: 0100007F:([0-9A-F]{4}) 00000000:0000 0A', line)
        for a in ('198.18.0.1', '198.19.200.9') if m else ():
            k = a, int(m[1], 16)
            if k not in held:
                s = held[k] = socket.socket(); s.bind(k); s.listen(100)
end
servers=$!
mkdir -p .config/art .ssh
echo '{"ssh": {"hosts": ["git.example"]}}' >.config/art/sandbox.json
ssh-keygen -q -t ed25519 -N "" -f host
ssh-keygen -q -t ed25519 -N "" -f key
echo "git.example $(cut -d' ' -f1,2 host.pub)" >.ssh/known_hosts
eval "$(ssh-agent)" >agent
ssh-add -q key
sleep 0.5
"$@"
code=$?
kill $servers $SSH_AGENT_PID
exit $code`
	shell := []string{"unshare", "-rnm", "--propagation", "private", "sh", "-c", script, "sh"}
	if uid := os.Getuid(); uid == 0 {
		shell[1] = "-nm"
	}
	cmd := exec.Command(shell[0], append(shell[1:], filepath.Join(dir, "art"), "doctor", "--attack", "-m", filepath.Join(dir, "ws"), "--network", "example.org,host:1")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), "have an echo request answered") {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// overlayWithout makes in dir a file for go build -overlay that takes guards out.
func overlayWithout(t *testing.T, dir string, guards []guard) string {
	t.Helper()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for i, g := range guards {
		original := filepath.Join(repo, g.file)
		from := original
		if earlier, ok := overlay.Replace[original]; ok {
			from = earlier
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), g.text) != 1 {
			t.Fatalf("%s does not have %q once", g.file, g.text)
		}
		copied := filepath.Join(dir, string(rune('a'+i))+".go")
		if err := os.WriteFile(copied, []byte(strings.Replace(string(text), g.text, g.without, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[original] = copied
	}
	text, err := json.Marshal(overlay)
	path := filepath.Join(dir, "overlay.json")
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
