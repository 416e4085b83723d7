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
	guardAddress = guard{"internal/netgate/gate.go", "case g.rules.Address(a, port):", "case true:"}
	guardKnown   = guard{"internal/netgate/dns.go", "|| !g.rules.KnowsName(name)", ""}
	guardName    = guard{"internal/netgate/dial.go", "if !g.rules.Name(name, port) {", "if false {"}
	guardPublic  = guard{"internal/netgate/dial.go", "if g.rules.At(name, a, port) &&", "if true ||"}
	guardKind    = guard{"internal/netgate/dns.go", "if q.Type != dnsmessage.TypeA && q.Type != dnsmessage.TypeAAAA {", "if false {"}
	guardClass   = guard{"internal/netgate/dns.go", "case question.Class != dnsmessage.ClassINET:", "case false:"}
	guardOpcode  = guard{"internal/netgate/dns.go", "case header.OpCode != 0:", "case false:"}
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

// attackWithout returns the table of art doctor --attack with guards taken out.
func attackWithout(t *testing.T, guards []guard) string {
	t.Helper()
	dir := t.TempDir()
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
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o644)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "ws"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-overlay", filepath.Join(dir, "overlay.json"),
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
import socket, time
for a, p in ('192.0.2.53', 53), ('192.0.2.53', 853), ('192.0.2.53', 443), ('169.254.169.254', 80):
    s = socket.socket(); s.bind((a, p)); s.listen(100); globals()['s' + str(p)] = s
time.sleep(1000)
end
servers=$!
sleep 0.5
"$@"
code=$?
kill $servers
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
