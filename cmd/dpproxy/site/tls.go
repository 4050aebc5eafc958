package site

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"dpproxy/config"
)

// ServerTLS reads the certificate of the server, and the authorities of its clients.
func ServerTLS(p *config.Policy) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(p.TLSCert, p.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("tls.cert %s, tls.key %s: %w", p.TLSCert, p.TLSKey, err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if p.ClientCA == "" {
		return cfg, nil
	}
	text, err := os.ReadFile(p.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("tls.client_ca: %w", err)
	}
	cfg.ClientCAs, cfg.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	if !cfg.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("tls.client_ca %s: there is no certificate in it", p.ClientCA)
	}
	return cfg, nil
}
