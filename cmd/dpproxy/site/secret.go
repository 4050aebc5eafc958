package site

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dpproxy/internal/durable"
	"dpproxy/proxy/publication"
)

const secretBytes = 32

// A Secret is the key of everything that must be random but repeatable: the choice of rows in
// contribution bounding, and the passwords of mirror roles.
type Secret []byte

// ReadSecret reads the secret from its file.
func ReadSecret(path string) (Secret, error) {
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

// MakeSecret writes a new secret; it never overwrites one.
func MakeSecret(path string) error {
	key := make([]byte, secretBytes)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := durable.CreateFile(path, []byte(base64.StdEncoding.EncodeToString(key)+"\n")); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// AsidePassword is the password of the role that computes definitions concealed from an analyst.
func (s Secret) AsidePassword(analyst string) string {
	return base64.RawURLEncoding.EncodeToString(s.Derive("mirror aside role:" + analyst))
}

// MirrorPassword is the password of an analyst's role on the mirror. Analysts do
// not know it: they log in to dpproxy with their own.
func (s Secret) MirrorPassword(analyst string) string {
	return base64.RawURLEncoding.EncodeToString(s.Derive("mirror role:" + analyst))
}

// mirrorSite names the dpproxy whose mirror is made: several that share a ledger share the secret too.
func (s Secret) mirrorSite() string { return hex.EncodeToString(s.Derive("mirror site")[:8]) }

// Publications seals and opens the records of published tables.
func (s Secret) Publications() publication.Book {
	return publication.NewBook([32]byte(s.Derive("published tables")))
}

// Derive returns a key that the secret gives for one purpose.
func (s Secret) Derive(purpose string) []byte {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// Fingerprint tells secrets apart without revealing them.
func (s Secret) Fingerprint() string { return hex.EncodeToString(s.Derive("fingerprint")[:8]) }
