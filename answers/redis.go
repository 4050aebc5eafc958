package answers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis is a Store in Redis, which the proxies of one ledger share. It has a string and a set for each answer, and a sorted set of all
// answers by the time of their last use.
type Redis struct {
	client *redis.Client
	prefix string
	keep   int
	now    func() time.Time
}

var _ Store = (*Redis)(nil)

// NewRedis returns the store of the ledger with the given name, which keeps at most keep answers. The store closes the client.
func NewRedis(client *redis.Client, ledger string, keep int, now func() time.Time) (*Redis, error) {
	if keep < 1 {
		return nil, fmt.Errorf("answers: cannot keep %d", keep)
	}
	return &Redis{client, "dp:" + ledger + ":answer", keep, now}, nil
}

func (r *Redis) body(key Key) string { return r.prefix + ":" + key.String() }

func (r *Redis) paid(key Key) string { return r.prefix + ":" + key.String() + ":paid" }

// Get implements Store.
func (r *Redis) Get(ctx context.Context, key Key) (*Release, error) {
	pipe := r.client.Pipeline()
	text, paid := pipe.Get(ctx, r.body(key)), pipe.SMembers(ctx, r.paid(key))
	if _, err := pipe.Exec(ctx); err != nil {
		if errors.Is(err, redis.Nil) {
			return nil, nil
		}
		return nil, fmt.Errorf("answers: %w", err)
	}
	a, err := decode([]byte(text.Val()))
	if err != nil {
		return nil, errors.Join(err, r.forget(ctx, key.String()))
	}
	for _, member := range paid.Val() {
		if analyst, ok := strings.CutPrefix(member, digest([]byte(text.Val()))+" "); ok {
			a.Paid = append(a.Paid, analyst)
		}
	}
	slices.Sort(a.Paid)
	return a, r.touch(ctx, key)
}

// touch notes the use of an answer.
func (r *Redis) touch(ctx context.Context, key Key) error {
	return r.client.ZAdd(ctx, r.prefix+"s", redis.Z{Score: float64(r.now().UnixMicro()), Member: key.String()}).Err()
}

// Put implements Store.
func (r *Redis) Put(ctx context.Context, key Key, a Release) (earlier *Release, err error) {
	text, err := encode(&a)
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	first, err := r.client.SetNX(ctx, r.body(key), text, 0).Result()
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	if !first {
		return r.Get(ctx, key)
	}
	for _, analyst := range a.Paid {
		if err := r.client.SAdd(ctx, r.paid(key), digest(text)+" "+analyst).Err(); err != nil {
			return nil, fmt.Errorf("answers: %w", err)
		}
	}
	return nil, errors.Join(r.touch(ctx, key), r.evict(ctx))
}

// Pay implements Store. A payer is noted with the digest of the release that they paid for.
func (r *Redis) Pay(ctx context.Context, key Key, a *Release, analyst string) error {
	text, err := encode(a)
	if err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	switch n, err := r.client.Exists(ctx, r.body(key)).Result(); {
	case err != nil:
		return fmt.Errorf("answers: %w", err)
	case n == 0:
		return nil
	}
	return r.client.SAdd(ctx, r.paid(key), digest(text)+" "+analyst).Err()
}

// Probe tries what the store needs of Redis, such as permissions.
func (r *Redis) Probe(ctx context.Context) error {
	key, probe := KeyOf(), Release{Paid: []string{"probe"}}
	err := r.forget(ctx, key.String())
	if err == nil {
		err = r.probeClaim(ctx, key)
	}
	if err == nil {
		_, err = r.Put(ctx, key, probe)
	}
	if err == nil {
		_, err = r.Get(ctx, key)
	}
	if err != nil {
		return err
	}
	if err := r.client.ZPopMin(ctx, r.prefix+"s", 0).Err(); err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	return r.forget(ctx, key.String())
}

// evict forgets the answers that were used longest ago, until at most keep are left.
func (r *Redis) evict(ctx context.Context) error {
	n, err := r.client.ZCard(ctx, r.prefix+"s").Result()
	if err != nil || n <= int64(r.keep) {
		return err
	}
	oldest, err := r.client.ZPopMin(ctx, r.prefix+"s", n-int64(r.keep)).Result()
	if err != nil {
		return err
	}
	var names []string
	for _, z := range oldest {
		if name, ok := z.Member.(string); ok {
			names = append(names, name)
		}
	}
	return r.forget(ctx, names...)
}

func (r *Redis) forget(ctx context.Context, names ...string) error {
	var keys []string
	for _, name := range names {
		keys = append(keys, r.prefix+":"+name, r.prefix+":"+name+":paid")
	}
	return r.client.Del(ctx, keys...).Err()
}

// Close implements Store.
func (r *Redis) Close() error { return r.client.Close() }
