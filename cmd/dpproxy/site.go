package main

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/mirror"
	"dpproxy/planner"
)

// site is a policy with what is needed to act on it.
type site struct {
	policy *config.Policy
	secret []byte
}

// openSite reads the policy and the secret.
func openSite(path string) (*site, error) {
	policy, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	secret, err := readSecret(policy.SecretFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no secret in %s: dpproxy init makes it, once", policy.SecretFile)
	}
	if err != nil {
		return nil, err
	}
	return &site{policy, secret}, nil
}

const secretBytes = 32

// readSecret reads the key of everything that must be random but repeatable: the
// choice of rows in contribution bounding, and the passwords of mirror roles.
func readSecret(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) < secretBytes {
		return nil, fmt.Errorf("%s is no secret of dpproxy: %d random bytes in base64 are expected", path, secretBytes)
	}
	return secret, nil
}

// makeSecret writes a new secret; it never overwrites one.
func makeSecret(path string) error {
	secret := make([]byte, secretBytes)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(secret) + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}

// mirrorPassword is the password of an analyst's role on the mirror. Analysts do
// not know it: they log in to dpproxy with their own.
func (s *site) mirrorPassword(analyst string) string {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte("mirror role:" + analyst))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// password returns the password of a connection: from the environment, or from a
// file that the policy names.
func password(variable, file string) (string, error) {
	if p := os.Getenv(variable); p != "" || file == "" {
		return p, nil
	}
	text, err := os.ReadFile(file)
	return strings.TrimRight(string(text), "\r\n"), err
}

func (s *site) connectData(ctx context.Context) (*pgx.Conn, error) {
	p, err := password("DPPROXY_DATA_PASSWORD", s.policy.DataPasswordFile)
	if err != nil {
		return nil, err
	}
	return connect(ctx, "the protected database", s.policy.Data, p)
}

// connectMirror connects as the mirror's superuser.
func (s *site) connectMirror(ctx context.Context) (*pgx.Conn, error) {
	p, err := password("DPPROXY_MIRROR_PASSWORD", s.policy.MirrorPasswordFile)
	if err != nil {
		return nil, err
	}
	return connect(ctx, "the mirror", cmp.Or(s.policy.MirrorAdmin, s.policy.Mirror), p)
}

func connect(ctx context.Context, what, url, password string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("connection to %s: %w", what, err)
	}
	if password != "" {
		cfg.Password = password
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", what, err)
	}
	return conn, nil
}

// readCatalog checks the policy against the protected database.
func (s *site) readCatalog(ctx context.Context) (*planner.Catalog, error) {
	conn, err := s.connectData(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	var names []catalog.Name
	for _, t := range s.policy.Tables.Tables {
		names = append(names, t.Name)
	}
	schema, err := mirror.Read(ctx, conn, names)
	if err != nil {
		return nil, err
	}
	cat, problems := planner.NewCatalog(s.policy.Tables, schema)
	if len(problems) == 0 {
		return cat, nil
	}
	var all error
	for _, p := range problems {
		all = errors.Join(all, s.policy.Annotate(p.Path, p.Message))
	}
	return nil, all
}
