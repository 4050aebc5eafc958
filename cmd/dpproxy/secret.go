package main

import (
	"context"
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

	"dpproxy/accountant/history"
	"dpproxy/accountant/redisledger"
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

// The notes in Redis about the secret that the proxies of a ledger share.
const (
	secretNoted = "the secret of this ledger's proxies has the fingerprint "
	secretNoter = "dpproxy"
)

func (s secret) fingerprint() string { return hex.EncodeToString(s.derive("fingerprint")[:8]) }

// errSecret is wrapped where a proxy has another secret than the others. Its
// answers would choose other rows of a person, and its sessions could not log in
// to a mirror that the others use.
var errSecret = errors.New("this proxy has another secret than the one that made the ledger")

// agree compares the secret with the one that the ledger notes. Where it notes
// none yet, it does so from then on.
func (s *books) agree(ctx context.Context, o redisledger.Options) error {
	noted := ""
	l, err := redisledger.OpenReader(ctx, o, func(r history.Record) {
		if n, ok := r.Entry.(history.NoteEntry); ok && noted == "" && n.Who == secretNoter && strings.HasPrefix(n.Text, secretNoted) {
			noted = strings.TrimPrefix(n.Text, secretNoted)
		}
	})
	if err != nil {
		return s.advise(err)
	}
	switch noted {
	case s.secret.fingerprint():
	case "":
		err = l.Decide(ctx, history.NoteEntry{Who: secretNoter, Text: secretNoted + s.secret.fingerprint()})
	default:
		err = fmt.Errorf("%s: %w: copy that proxy's secret to %s", s.where(), errSecret, s.policy.SecretFile)
	}
	return errors.Join(err, l.Close())
}
