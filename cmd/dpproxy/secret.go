package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const secretBytes = 32

// A secret is the key of everything that must be random but repeatable: the choice of rows in
// contribution bounding, and the passwords of mirror roles.
type secret []byte

// readSecret reads the secret from its file.
func readSecret(path string) (secret, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) < secretBytes {
		return nil, fmt.Errorf("%s is no secret of dpproxy: %d random bytes in base64 are expected", path, secretBytes)
	}
	return key, nil
}

// makeSecret writes a new secret; it never overwrites one.
func makeSecret(path string) error {
	key := make([]byte, secretBytes)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}

// asidePassword is the password of the role that computes definitions concealed from an analyst.
func (s secret) asidePassword(analyst string) string {
	return base64.RawURLEncoding.EncodeToString(s.derive("mirror aside role:" + analyst))
}

// mirrorPassword is the password of an analyst's role on the mirror. Analysts do
// not know it: they log in to dpproxy with their own.
func (s secret) mirrorPassword(analyst string) string {
	return base64.RawURLEncoding.EncodeToString(s.derive("mirror role:" + analyst))
}

// mirrorSite names the dpproxy whose mirror is made: several that share a ledger share the secret too.
func (s secret) mirrorSite() string { return hex.EncodeToString(s.derive("mirror site")[:8]) }

// derive returns a key that the secret gives for one purpose.
func (s secret) derive(purpose string) []byte {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// fingerprint tells secrets apart without revealing them.
func (s secret) fingerprint() string { return hex.EncodeToString(s.derive("fingerprint")[:8]) }
