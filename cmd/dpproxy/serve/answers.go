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
	"dpproxy/catalog"
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

// version returns the version of remembered answers that read some relations: a digest of the policy of these tables, of their schema, of
// the secret and of questionFormat. If it changes, no such answer is found any more. Other tables have no part in it: a proof that rests
// on them decides what is read and how much noise there is, which the question has itself.
func (s *Host) version(cat *policy.Model) (func(relations []catalog.Name) []byte, error) {
	all, of, err := versions(s.Policy.Tables, cat)
	if err != nil {
		return nil, err
	}
	secret := sha256.Sum256(s.Secret)
	return func(relations []catalog.Name) []byte {
		h := sha256.New()
		h.Write([]byte(questionFormat))
		h.Write(secret[:])
		h.Write(all)
		for _, name := range slices.SortedFunc(slices.Values(relations), func(a, b catalog.Name) int {
			return strings.Compare(a.String(), b.String())
		}) {
			digest := of[name]
			h.Write(fmt.Appendf(nil, "%q ", name))
			h.Write(digest[:])
		}
		return h.Sum(nil)
	}, nil
}

// versions returns what a policy says of all tables, and digests of the policy and the schema of each.
func versions(p policy.Policy, cat *policy.Model) (all []byte, of map[catalog.Name][sha256.Size]byte, err error) {
	stated := policy.Stated(p, cat)
	of = map[catalog.Name][sha256.Size]byte{}
	for i := range stated.Tables {
		t := &stated.Tables[i]
		said, err := json.Marshal(t)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(cat.Protected(), t.Name) {
			said = append(said, introspect.Unchecked(cat.Source(t.Name).Fingerprint)...)
		}
		of[t.Name] = sha256.Sum256(said)
	}
	stated.Tables = nil
	all, err = json.Marshal(stated)
	return all, of, err
}

// forgotten says which change of the policy or of a schema makes the next generation forget answers of the former; "" if there is none.
// A new answers.epoch forgets them too, as the administrator intends, and is not reported.
func (g *generation) forgotten(old *generation) (string, error) {
	if old.outlook == nil || !old.Policy.Answers.Remember || !g.Policy.Answers.Remember {
		return "", nil
	}
	allBefore, before, err := versions(old.Policy.Tables, old.outlook.Model)
	if err != nil {
		return "", err
	}
	all, after, err := versions(g.Policy.Tables, g.outlook.Model)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(allBefore, all) {
		return "the policy of all tables is another", nil
	}
	var said, formed []string
	for _, t := range old.Policy.Tables.Tables {
		switch form := func(m *policy.Model) string { return introspect.Unchecked(m.Source(t.Name).Fingerprint) }; {
		case before[t.Name] == after[t.Name]:
		case slices.Contains(g.outlook.Model.Protected(), t.Name) && slices.Contains(old.outlook.Model.Protected(), t.Name) &&
			form(old.outlook.Model) != form(g.outlook.Model):
			formed = append(formed, t.Name.String())
		default:
			said = append(said, t.Name.String())
		}
	}
	var why []string
	if len(said) > 0 {
		why = append(why, "the policy is another of "+strings.Join(said, ", "))
	}
	if len(formed) > 0 {
		why = append(why, "another form was confirmed of "+strings.Join(formed, ", "))
	}
	return strings.Join(why, "; "), nil
}
