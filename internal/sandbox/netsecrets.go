package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netrule"
	"github.com/riverlytech/art/internal/placeholder"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/libexec"
)

// authorityTime is how long art-net may take to make an authority.
const authorityTime = 20 * time.Second

// trustVariables are those by which programs find the certificates that they believe: all of them in one file, or more of them.
var (
	trustVariables = []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "PIP_CERT",
		"AWS_CA_BUNDLE", "DENO_CERT", "NIX_SSL_CERT_FILE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "BUNDLE_SSL_CA_CERT"}
	moreTrustVariables = []string{"NODE_EXTRA_CA_CERTS"}
)

// hostRoots are the files of the certificates that a host believes, by distribution, as Go's own package crypto/x509 has them.
var hostRoots = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
	"/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem"}

// kept are secrets that the guest has something else for.
type kept struct {
	secrets   []control.NetSecret
	authority <-chan madeAuthority // nil where nothing is sent
}

type madeAuthority struct {
	*control.NetAuthority
	err error
}

// keepSecrets finds the values of secrets, and makes what the guest has in their place.
func (p *prepared) keepSecrets(o *request, s *config.Settings) error {
	if len(s.Secrets) == 0 {
		return nil
	}
	first := s.Secrets[0]
	if s.Network.Value == "host" {
		return cli.WithHint(fmt.Errorf("%s: keep %s from the guest: its network is the host's, and what it sends there passes nobody", first.Origin, first.Name),
			"name what it may reach: --network "+first.Hosts[0].String()+",..., or \"network\": {\"allow\": [...]} in the settings")
	}
	for i := range s.Secrets {
		if err := p.keep(&s.Secrets[i], s, o.Quiet); err != nil {
			return err
		}
	}
	if p.net == nil {
		return nil
	}
	for _, k := range p.kept.secrets {
		if k.Value != "" {
			p.net.Secrets = append(p.net.Secrets, k)
		}
	}
	if len(p.net.Secrets) == 0 {
		return nil
	}
	return p.beginAuthority()
}

// keep keeps one secret.
func (p *prepared) keep(s *config.Secret, all *config.Settings, quiet bool) error {
	value, ok := secretValue(s.Name, all)
	if !ok || value == "" {
		if !quiet {
			fmt.Fprintf(os.Stderr, "art: warning: the secret %s has no value, in no .env and not in the environment\n", cli.Printable(s.Name))
		}
		p.kept.secrets = append(p.kept.secrets, control.NetSecret{Name: s.Name})
		return nil
	}
	fail := func(err error) error {
		return fmt.Errorf("%s: keep %s from the guest: %w", s.Origin, s.Name, err)
	}
	shown, err := p.kept.shown(value)
	if err != nil {
		return fail(err)
	}
	kept := control.NetSecret{Name: s.Name, Value: value, Placeholder: shown, Header: s.Header}
	var rules *netrule.Rules
	if p.net != nil {
		if rules, err = netrule.ParseRules(p.net.Allow, p.net.Deny); err != nil {
			return fail(err)
		}
	}
	for _, h := range s.Hosts {
		if rules != nil && !rules.Name(h.Name, uint16(h.Port)) && !quiet {
			fmt.Fprintf(os.Stderr, "art: warning: the secret %s is for %s, which no rule allows\n", cli.Printable(s.Name), h)
		}
		kept.Hosts = append(kept.Hosts, control.NetSecretHost{Name: h.Name, Port: h.Port, Methods: h.Methods, Paths: h.Paths})
	}
	p.kept.secrets = append(p.kept.secrets, kept)
	return nil
}

// shown returns what the guest has in the place of a value, under whatever name.
func (k *kept) shown(value string) (string, error) {
	for i := range k.secrets {
		if k.secrets[i].Value == value {
			return k.secrets[i].Placeholder, nil
		}
	}
	return placeholder.Make(value)
}

// secretValue returns the value that a variable would have in the guest, or has on the host.
func secretValue(name string, s *config.Settings) (value string, ok bool) {
	for _, v := range s.Values {
		if v.Name == name {
			value, ok = v.Value, true
		}
	}
	for _, e := range s.Env {
		if key, given, found := strings.Cut(e.Value, "="); key == name && found {
			value, ok = given, true
		} else if own, there := os.LookupEnv(name); key == name && there {
			value, ok = own, true
		}
	}
	if !ok {
		value, ok = os.LookupEnv(name)
	}
	return value, ok
}

// others returns the variables that are no secrets. Whatever has a value of one for a part has the guest's text there.
func (k *kept) others(env []string) []string {
	return k.texts(slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(k.secrets, func(s control.NetSecret) bool { return s.Name == name })
	}))
}

// env returns an environment with what the guest has in the place of secrets.
func (k *kept) env(env []string) []string {
	out := k.others(env)
	for i := range k.secrets {
		if s := &k.secrets[i]; s.Placeholder != "" {
			out = append(out, s.Name+"="+s.Placeholder)
		}
	}
	return out
}

// texts returns texts with the guest's in the place of secrets, the longest first: one may be part of another.
func (k *kept) texts(texts []string) []string {
	if len(k.secrets) == 0 {
		return texts
	}
	sorted := slices.Clone(k.secrets)
	slices.SortStableFunc(sorted, func(a, b control.NetSecret) int { return len(b.Value) - len(a.Value) })
	out := slices.Clone(texts)
	for i := range out {
		for j := range sorted {
			if s := &sorted[j]; s.Value != "" {
				out[i] = strings.ReplaceAll(out[i], s.Value, s.Placeholder)
			}
		}
	}
	return out
}

// beginAuthority has art-net make the authority of this session, while the rest is prepared, and has the guest believe it.
func (p *prepared) beginAuthority() error {
	var hosts []string
	for i := range p.kept.secrets {
		for _, h := range p.kept.secrets[i].Hosts {
			if !slices.Contains(hosts, h.Name) {
				hosts = append(hosts, h.Name)
			}
		}
	}
	if len(hosts) == 0 {
		p.net.Secrets = nil
		return nil
	}
	info, err := os.Lstat("/run")
	if err != nil || !info.IsDir() {
		return errors.New("show the guest certificates: the host has no directory /run")
	}
	cmd, err := libexec.Command("art-net", append([]string{"authority"}, hosts...)...)
	if err != nil {
		return err
	}
	made := make(chan madeAuthority, 1)
	p.kept.authority = made
	go func() {
		m := madeAuthority{NetAuthority: &control.NetAuthority{}}
		var out bytes.Buffer
		cmd.Env, cmd.Stdout = libexec.CallerEnv(), &out
		if m.err = cmd.Start(); m.err == nil {
			timer := time.AfterFunc(authorityTime, func() { _ = cmd.Process.Kill() }) // it may have ended
			m.err = cmd.Wait()
			timer.Stop()
		}
		if m.err == nil {
			m.err = control.Unmarshal(out.Bytes(), m.NetAuthority)
		}
		made <- m
	}()
	return nil
}

// endAuthority waits for the authority, and has the guest believe it beside what it believes anyway.
func (p *prepared) endAuthority() error {
	if p.kept.authority == nil {
		return nil
	}
	made := <-p.kept.authority
	if made.err != nil {
		return fmt.Errorf("make an authority for the guest: art-net: %w", made.err)
	}
	p.net.Authority = *made.NetAuthority
	p.plan.Authority = string(made.Certificate)
	p.plan.View.Authority, p.plan.View.Bundle = p.plan.AuthorityPath(), p.plan.BundlePath()
	i := slices.IndexFunc(hostRoots, regular)
	if i >= 0 {
		p.plan.Roots, p.plan.View.Roots = hostRoots[i], hostRoots[i]
	}
	for _, kv := range p.payload.Env {
		if path, ok := strings.CutPrefix(kv, "SSL_CERT_FILE="); ok && regular(path) {
			p.plan.Roots = path // the user's own
		}
	}
	var set []string
	for _, name := range trustVariables {
		set = append(set, name+"="+view.Bundle)
	}
	for _, name := range moreTrustVariables {
		set = append(set, name+"="+view.Authority)
	}
	p.payload.Env = mergeEnv(p.payload.Env, set)
	return nil
}

// ownRoots are the caller's variables by which programs on the host, art-net among them, find the certificates that they believe.
func ownRoots() (env []string) {
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
