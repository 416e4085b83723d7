package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/riverlytech/art/internal/attack"
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
	guardOwn     = guard{"internal/netgate/dial.go", "(!slices.Contains(own, a) || p.rules.Named(a, port))", "true"}
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
	guardSilent  = guard{"internal/netgate/gate.go", "== header.ICMPv4ProtocolNumber {", "== 255 {"}
)

// networkGuards are guards of the areas that guarded names, and the attempts there that succeed without them.
var networkGuards = []struct {
	guards   []guard
	succeeds []string
}{
	{nil, nil},
	{[]guard{guardAddress}, []string{
		"connect to an address of the host", "connect to an address of the host as IPv6", "connect to what clouds tell their machines",
		"connect to another resolver", "connect to another resolver by TLS", "connect to another resolver by HTTPS",
		"connect to another resolver as IPv6", "connect to localhost by what stands for it in IPv6",
		"connect to the gateway", "connect to the gateway of IPv6", "connect to an address of no name",
	}},
	{[]guard{guardUDP}, []string{"send to another resolver", "send by QUIC", "send to an address of the host"}},
	{[]guard{guardKnown}, []string{"ask for the address of another name over TCP"}},
	{[]guard{guardKnown, guardKind}, []string{
		"ask for text of another name", "ask for anything of another name", "ask for a whole zone", "ask for the name of an address",
	}},
	{[]guard{guardKnown, guardKind, guardClass}, []string{"ask what the resolver is"}},
	{[]guard{guardKnown, guardKind, guardOpcode}, []string{"change a zone"}},
	{[]guard{guardKnown, guardName}, []string{"find the host by the resolver"}},
	{[]guard{guardKnown, guardName, guardPublic, guardOwn}, []string{"find what clouds tell by the resolver"}},
	{[]guard{guardHost}, []string{"have a login signed to a host of one's own"}},
	{[]guard{guardSession}, []string{"have a login signed to a host that says nothing"}},
	{[]guard{guardHost, guardForward}, []string{"forward the agent to a host of one's own"}},
	{[]guard{guardUnbound, guardOther}, []string{"have a login signed without a host"}},
	{[]guard{guardUnbound, guardLogin}, []string{"have a text signed", "have a file signed"}},
	{[]guard{guardAdd, guardRemove, guardLock, guardUnlock, guardExtend}, []string{"add a key to the agent", "lock the agent", "ask the agent what else it can"}},
}

// guarded are the areas in which each attempt has a guard that is taken out.
var guarded = []string{"the network", "the agent of SSH"}

// An attempt that fails proves a guard only if it succeeds without that. Each of these is taken out of a copy of art, in a network of
// the test's own whose host has an address for everything.
func TestNetworkGuards(t *testing.T) {
	if os.Getenv("ART_TEST_LONG") == "" || isClone {
		t.Skip("it builds art again and again")
	}
	proved := map[string]bool{}
	for _, c := range networkGuards {
		t.Run(nameOf(c.guards), func(t *testing.T) {
			t.Parallel()
			table := attackWithout(t, c.guards, "example.org,host:1")
			got := map[string]bool{}
			for _, row := range regexp.MustCompile(`(?m)^  (.*\S) +(?:fails|succeeds) +succeeds +succeeds$`).FindAllStringSubmatch(table, -1) {
				got[row[1]] = true
			}
			for _, name := range c.succeeds {
				if !got[name] {
					t.Errorf("nobody can %s:\n%s", name, table)
				}
			}
			if len(c.guards) > 0 {
				return
			}
			if len(got) > 0 {
				t.Errorf("with all guards one can %v", got)
			}
			// The guard of what takes root is that the guest has no rights over its network, as the test has over its own.
			for _, a := range attack.All() {
				if slices.Contains(guarded, a.Area) && a.Needs == attack.Root && !regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(a.Name)+` +succeeds +fails +fails$`).MatchString(table) {
					t.Errorf("with rights nobody can %s:\n%s", a.Name, table)
				}
			}
		})
		for _, name := range c.succeeds {
			proved[name] = true
		}
	}
	// The guard of others is that the guest has a network of its own.
	t.Run("a network of its own", func(t *testing.T) {
		t.Parallel()
		table := attackWithout(t, nil, "host")
		for _, a := range attack.All() {
			if a.Option == attack.Network && !regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(a.Name)+` +succeeds +allowed +allowed$`).MatchString(table) {
				t.Errorf("with the host's network nobody can %s:\n%s", a.Name, table)
			}
		}
	})
	for _, c := range unitGuards {
		proved[c.attempt] = true
	}
	for _, name := range []string{
		"open what makes interfaces",     // a guest has the devices of a list: there is no guard of this one to take out
		"find localhost by the resolver", // behind the guards of all names, art-net's own resolver does not find it
	} {
		proved[name] = true
	}
	for _, a := range attack.All() {
		if slices.Contains(guarded, a.Area) && a.Option != attack.Network && a.Needs != attack.Root && !proved[a.Name] {
			t.Errorf("no guard is taken out for: %s", a.Name)
		}
	}
}

// storyGuards are guards that the story of a network by name proves: without them, others of its lines begin otherwise.
var storyGuards = []struct {
	guards []guard
	lines  []string
}{
	{nil, nil},
	{[]guard{guardFirst}, []string{"another Host", "a proxy", "another name of TLS"}},
	{[]guard{guardPublic}, []string{"a name at a private address", "another name of one at a private address"}},
	{[]guard{guardPublic, guardOwn}, []string{"a name that moves"}}, // to localhost
	{[]guard{guardKnown, guardName}, []string{"another name", "below a name", "another port", "another port of the host"}},
}

// TestStoryGuards makes the attempts of the story that take a resolver and servers.
func TestStoryGuards(t *testing.T) {
	if os.Getenv("ART_TEST_LONG") == "" || isClone {
		t.Skip("it builds art again and again")
	}
	story, err := txtar.ParseFile("testdata/script/network-names.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range story.Files {
		files[f.Name] = string(f.Data)
	}
	for _, c := range storyGuards {
		t.Run(nameOf(c.guards), func(t *testing.T) {
			dir := buildWithout(t, c.guards)
			for _, name := range []string{"net.sh", "inside.sh", "servers.py", "ws/denied.py"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(files[name]), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("sh", "net.sh", "art", "-q", "-m", "ws", "--network", "good.example,*.wild.example:80,host:5432,private.example,alias.example,rebind.example", "--", "python3", "denied.py")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for line := range strings.Lines(files["denied.want"]) {
				what, _, _ := strings.Cut(line, ":")
				is := strings.Contains("\n"+string(out), "\n"+line)
				if slices.Contains(c.lines, what) && is {
					t.Errorf("%s is refused:\n%s", what, out)
				} else if c.guards == nil && !is {
					t.Errorf("%s is not:\n%s", line, out)
				}
			}
		})
	}
}

// nameOf names the test that takes out some guards.
func nameOf(guards []guard) string {
	var texts []string
	for _, g := range guards {
		texts = append(texts, g.text)
	}
	return strings.Join(texts, " and ")
}

// unitGuards are guards that tests of packages prove: without each, the test that makes the attempt fails.
var unitGuards = []struct {
	guard
	attempt, pkg, test string
}{
	{guardFirst, "TLS for another name, a request for another host, a proxy's CONNECT", "netgate", "TestFirst"},
	{guardPublic, "a name that leads to a private address by another name, or since it was looked up", "netgate", "TestWhereNamesLead"},
	{guardOwn, "a name at a public address of the host's own", "netgate", "TestOwnAddress"},
	{guard{"internal/session/peer.go", "case its != own:", `case its == own+"x":`}, "grant itself a name by the session's socket", "session", "TestGuestIsRefused"},
	{guardSilent, "have an echo request answered", "netgate", "TestUDPRefused"},
	{guardKnown, "a name that no rule allows", "netgate", "TestRefusedQuestions"},
	{guard{"internal/netgate/dns.go", "name != asked ||", ""}, "the same name in another form", "netgate", "TestOtherForms"},
	{guard{"internal/netgate/gate.go", "\tif name == netrule.Host && p.rules.Name(name, port) {", "\tif name == netrule.Host {"}, "another port of the host's", "netgate", "TestOtherPorts"},
	{guard{"internal/netrule/public.go", "a = a.Unmap()\n\tif a.Zone", "if a.Zone"}, "a private address as IPv6", "netrule", "TestPublic"},

	{guard{"internal/netsecret/netsecret.go", `if asked := strings.TrimSuffix(strings.ToLower(hello.ServerName), "."); asked != "" && asked != c.name {`, `if asked := hello.ServerName; false {`}, "another host by the name in TLS", "netsecret", "TestRefused"},
	{guard{"internal/netsecret/request.go", `if host != "" && !c.is(host) {`, "if false {"}, "another host by the request", "netsecret", "TestRefused"},
	{guard{"internal/netsecret/request.go", "if r.Method == http.MethodConnect {", "if false {"}, "through the host as a proxy", "netsecret", "TestRefused"},
	{guard{"internal/netsecret/request.go", "if !found {\n\t\t\tcontinue\n\t\t}\n\t\tif !slices.ContainsFunc(hosts, func(h control.NetSecretHost) bool { return goesWith(&h, r) }) {", "if !found {\n\t\t\tcontinue\n\t\t}\n\t\tif false {"}, "another method or path", "netsecret", "TestLimits"},
	{guard{"internal/netsecret/request.go", "if clean := path.Clean(p); clean != p && clean+\"/\" != p ||", "if clean := path.Clean(p); clean == \"\" ||"}, "a path with ..", "netsecret", "TestLimits"},
	{guard{"internal/netsecret/request.go", `strings.Contains(escaped, "%2f") ||`, ""}, "a path with a packed slash", "netsecret", "TestLimits"},
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

// buildWithout returns a directory with art built without guards, and an empty one for a workspace.
func buildWithout(t *testing.T, guards []guard) string {
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
	return dir
}

// attackWithout returns the table of art doctor --attack with guards taken out.
func attackWithout(t *testing.T, guards []guard, network string) string {
	t.Helper()
	dir := buildWithout(t, guards)
	const script = `
ip link set lo up
for a in 192.0.2.53 169.254.169.254 23.23.23.1 198.19.200.9 198.18.0.1; do ip route add local $a/32 dev lo; done
for a in fd61:7274:6e65:7400::1 ::7f00:1 64:ff9b::7f00:1 2002:7f00:1::; do ip -6 route add local $a/128 dev lo; done
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
        for a in ('198.18.0.1', '198.19.200.9', 'fd61:7274:6e65:7400::1', '64:ff9b::7f00:1') if m else ():
            k = a, int(m[1], 16)
            if k not in held:
                s = held[k] = socket.socket(socket.AF_INET6 if ':' in a else socket.AF_INET)
                if ':' in a: s.setsockopt(socket.IPPROTO_IPV6, 78, 1) # IPV6_FREEBIND
                s.bind(k); s.listen(100)
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
	cmd := exec.Command(shell[0], append(shell[1:], filepath.Join(dir, "art"), "doctor", "--attack", "-m", filepath.Join(dir, "ws"), "--network", network)...)
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
