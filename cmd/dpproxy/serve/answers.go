package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"dpproxy/answers"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/policy"
	"dpproxy/proxy"
)

// answers opens the store of remembered answers: in the directory or the Redis of the ledger. If same is true it keeps the opened store.
func (s *Host) answers(ctx context.Context, cat *policy.Model, opened answers.Store, same bool) (proxy.Answers, error) {
	a := s.Policy.Answers
	version, err := s.version(cat)
	if err != nil || !a.Remember {
		return proxy.Answers{Version: version}, err
	}
	store := opened
	if !same {
		store, err = s.answerStore(ctx, a.Keep)
	}
	epoch := func() string { return fmt.Sprintf("%d %s", time.Now().UnixNano()/int64(a.Refresh), a.Epoch) }
	return proxy.Answers{Store: store, Version: version, Epoch: epoch}, err
}

func (s *Host) answerStore(ctx context.Context, keep int) (answers.Store, error) {
	if !s.books.Shared() {
		return answers.OpenFiles(filepath.Join(s.Policy.Ledger.Dir, "answers"), keep)
	}
	opts, err := redis.ParseURL(s.Policy.Ledger.Redis)
	if err != nil {
		return nil, err
	}
	if opts.Password, err = site.RedisPassword(s.Policy.Ledger).Read(); err != nil {
		return nil, err
	}
	opts.DisableIdentity = true
	store, err := answers.NewRedis(redis.NewClient(opts), s.Policy.Ledger.Name, keep, time.Now)
	if err != nil {
		return nil, err
	}
	if err := store.Probe(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("remembering answers in Redis: %w: "+
			"give the user the rights that docs/operations.md names, or say answers: {remember: false}", err), store.Close())
	}
	return store, nil
}

// questionFormat is the version of the identity of questions: another version forgets all answers. The encoding of an answer has its own
// version (answers.Release).
const questionFormat = "3"

// version is a digest of the policy of the tables, their schema, the secret and questionFormat. If it changes, no remembered answer is
// found any more.
func (s *Host) version(cat *policy.Model) ([]byte, error) {
	h := sha256.New()
	h.Write([]byte(questionFormat))
	if err := json.NewEncoder(h).Encode(policy.Stated(s.Policy.Tables, cat)); err != nil {
		return nil, err
	}
	for _, name := range cat.Protected() {
		h.Write(fmt.Appendf(nil, "%q %q\n", name, introspect.Unchecked(cat.Source(name).Fingerprint)))
	}
	secret := sha256.Sum256(s.Secret)
	h.Write(secret[:])
	return h.Sum(nil), nil
}

// forgotten says which change of the policy or of a schema makes the next generation forget the answers of the former; "" if there is none.
// A new answers.epoch forgets them too, as the administrator intends, and is not reported.
func (g *generation) forgotten(old *generation) (string, error) {
	if old.outlook == nil || !old.Policy.Answers.Remember || !g.Policy.Answers.Remember {
		return "", nil
	}
	was, err := json.Marshal(policy.Stated(old.Policy.Tables, old.outlook.Model))
	if err != nil {
		return "", err
	}
	is, err := json.Marshal(policy.Stated(g.Policy.Tables, g.outlook.Model))
	if err != nil {
		return "", err
	}
	if !bytes.Equal(was, is) {
		return "the policy of the tables is another", nil
	}
	before, after := old.outlook.Model, g.outlook.Model
	var changed []string
	for _, name := range after.Protected() {
		form := func(m *policy.Model) string { return introspect.Unchecked(m.Source(name).Fingerprint) }
		if slices.Contains(before.Protected(), name) && form(before) != form(after) {
			changed = append(changed, name.String())
		}
	}
	if len(changed) == 0 {
		return "", nil
	}
	return "another form was confirmed of " + strings.Join(changed, ", "), nil
}
