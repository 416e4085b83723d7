package netsecret

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/riverlytech/art/internal/control"
)

// How long certificates last: the authority's for a session, and those of hosts, which are made anew, for some days of it.
const (
	authorityTime = 2 * 365 * 24 * time.Hour
	hostTime      = 7 * 24 * time.Hour
	early         = time.Hour // for clocks that differ
)

// NewAuthority makes one that can speak for some hosts and no others.
func NewAuthority(hosts []string) (*control.NetAuthority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	_, all4, _ := net.ParseCIDR("0.0.0.0/0") // both can be parsed
	_, all6, _ := net.ParseCIDR("::/0")
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "art: one session"},
		NotBefore: now.Add(-early), NotAfter: now.Add(authorityTime),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: hosts, ExcludedIPRanges: []*net.IPNet{all4, all6},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &control.NetAuthority{Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: pkcs8}, nil
}

// authority makes certificates of hosts.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	hostKey     *ecdsa.PrivateKey // one for all of them

	mu   sync.Mutex
	made map[string]*tls.Certificate // GUARDED_BY(mu)
}

func newAuthority(a *control.NetAuthority) (*authority, error) {
	block, _ := pem.Decode(a.Certificate)
	if block == nil {
		return nil, errors.New("there is no certificate")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(a.Key)
	if err != nil {
		return nil, err
	}
	own, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key is a %T", key)
	}
	hostKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: certificate, key: own, hostKey: hostKey, made: map[string]*tls.Certificate{}}, nil
}

// of returns a certificate of a host.
func (a *authority) of(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if c := a.made[host]; c != nil && now.Before(c.Leaf.NotAfter.Add(-hostTime/2)) {
		return c, nil
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "art"}, DNSNames: []string{host},
		NotBefore: now.Add(-early), NotAfter: now.Add(hostTime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &a.hostKey.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.hostKey, Leaf: leaf}
	a.made[host] = c
	return c, nil
}
