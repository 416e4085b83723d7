package clients

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// The address of all servers: one of the Internet's, since others take a rule.
const address = "23.23.23.1"

// A host is the network that sessions are in, with a resolver and servers.
type host struct {
	dir, kit, repository string
	served               *http.ServeMux
}

// newHost makes the network of this namespace, and what serves in it for as long as the test runs.
func newHost(t testing.TB) *host {
	h := &host{dir: t.TempDir()}
	if err := os.Chmod(filepath.Dir(h.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, os.Chmod(h.dir, 0o755))
	h.kit, h.repository = filepath.Join(h.dir, "kit"), filepath.Join(h.dir, "served", "greeting.git")
	must(t, os.Mkdir(h.kit, 0o755))
	run(t, "", "ip", "link", "set", "lo", "up")
	// The servers are at an address as of another host, since names at the host's own take a rule.
	run(t, "", "ip", "route", "add", "local", address+"/32", "dev", "lo")
	resolv := filepath.Join(h.dir, "resolv.conf")
	must(t, os.WriteFile(resolv, []byte("nameserver 127.0.0.1\n"), 0o644))
	must(t, unix.Mount(resolv, "/etc/resolv.conf", "", unix.MS_BIND, ""))
	must(t, unix.Mount("none", "/dev/net", "tmpfs", 0, "mode=755"))
	h.device(t, 0o666)

	h.resolve(t)
	h.sshd(t)
	h.served = newServed(t, h)
	l, err := net.Listen("tcp", address+":443")
	must(t, err)
	server := &http.Server{Handler: h.served, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{h.certificate(t)}}, ReadHeaderTimeout: limit}
	go server.ServeTLS(l, "", "")
	t.Cleanup(func() { server.Close() })
	h.programs(t)
	return h
}

// device makes /dev/net/tun, with which a session of an ordinary user can make a network if its mode allows.
func (h *host) device(t testing.TB, mode uint32) {
	t.Helper()
	if err := os.Remove("/dev/net/tun"); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	must(t, unix.Mknod("/dev/net/tun", unix.S_IFCHR|mode, int(unix.Mkdev(10, 200))))
	must(t, os.Chmod("/dev/net/tun", os.FileMode(mode)))
}

// session makes a directory with what a user's sessions need.
func (h *host) session(t testing.TB, id uint32) *session {
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	run(t, "", "cp", "-r", h.kit, dir)
	must(t, os.Mkdir(filepath.Join(dir, "home"), 0o700))
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(id), int(id))
	}))
	return &session{id: id, dir: dir, repository: h.repository}
}

// resolve answers what the addresses of names are: that of the servers, whatever the name.
func (h *host) resolve(t testing.TB) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:53")
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
			if q.Type == dnsmessage.TypeA {
				reply.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60},
					Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(address).To4())},
				}}
			}
			if packed, err := reply.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	}()
}

// certificate makes the servers' certificate, and leaves the root that signed it to the clients.
func (h *host) certificate(t testing.TB) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root of the test"}, NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	must(t, err)
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: allowed}, NotAfter: time.Now().AddDate(0, 1, 0),
		DNSNames: []string{allowed, denied}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, leafKey.Public(), key)
	must(t, err)
	h.write(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	run(t, h.kit, "keytool", "-importcert", "-noprompt", "-storetype", "PKCS12", "-alias", "test", "-file", "ca.pem", "-keystore", "trust.p12", "-storepass", "changeit")
	return tls.Certificate{Certificate: [][]byte{leafDER}, PrivateKey: leafKey}
}

// sshd lets whoever has the clients' key in as root, for one repository.
func (h *host) sshd(t testing.TB) {
	dir := filepath.Join(h.dir, "ssh")
	must(t, os.Mkdir(dir, 0o755))
	run(t, dir, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "host")
	run(t, h.kit, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key")
	key, err := os.ReadFile(filepath.Join(h.kit, "key.pub"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "authorized"), append([]byte("restrict "), key...), 0o644))
	public, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	must(t, err)
	h.write(t, "known_hosts", append([]byte(allowed+","+denied+" "), public...))
	must(t, os.MkdirAll("/run/sshd", 0o755))
	daemon, err := exec.LookPath("sshd")
	must(t, err)
	cmd := exec.Command(daemon, "-D", "-E", filepath.Join(dir, "log"), "-f", "/dev/null", "-h", filepath.Join(dir, "host"), "-o", "ListenAddress="+address,
		"-o", "AuthorizedKeysFile="+filepath.Join(dir, "authorized"), "-o", "StrictModes=no", "-o", "PermitRootLogin=prohibit-password", "-o", "PidFile=none",
		"-o", "ForceCommand=git-upload-pack "+h.repository)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// programs leaves clients that are built, or run from their source.
func (h *host) programs(t testing.TB) {
	cmd := exec.Command("go", "build", "-o", filepath.Join(h.kit, "fetch"), "testdata/fetch.go")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"Fetch.java", "cargo"} {
		run(t, "", "cp", "-r", "testdata/"+name, h.kit)
	}
}

func (h *host) write(t testing.TB, name string, data []byte) {
	t.Helper()
	path := filepath.Join(h.kit, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, data, 0o644))
}

func run(t testing.TB, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
