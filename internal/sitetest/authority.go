package sitetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An Authority is a certificate authority of a test.
type Authority struct {
	// Root is the file with its own certificate, in PEM.
	Root string

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority, whose certificates are valid for a day.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{Root: filepath.Join(t.TempDir(), "root.crt"), key: newKey(t)}
	a.certificate = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	writePEM(t, a.Root, "CERTIFICATE", a.issue(t, a.certificate, a.key))
	return a
}

// Server issues a certificate for localhost and 127.0.0.1: it returns the files with it and
// with its key, in PEM.
func (a *Authority) Server(t testing.TB) (cert, key string) {
	t.Helper()
	dir, private := t.TempDir(), newKey(t)
	cert, key = filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
	writePEM(t, cert, "CERTIFICATE", a.issue(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: a.certificate.NotBefore, NotAfter: a.certificate.NotAfter,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, private))
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, key, "PRIVATE KEY", der)
	return cert, key
}

// Client issues a certificate to a client with a common name.
func (a *Authority) Client(t testing.TB, name string) tls.Certificate {
	t.Helper()
	key := newKey(t)
	der := a.issue(t, &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: name},
		NotBefore: a.certificate.NotBefore, NotAfter: a.certificate.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// issue signs a certificate for a key.
func (a *Authority) issue(t testing.TB, template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
