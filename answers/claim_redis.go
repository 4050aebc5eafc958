package answers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A claim in Redis is a key next to the answer's key. Redis drops it after [lease] unless its holder renews it. Only Redis measures this
// time, and only as a duration: no two clocks are compared. The key's value is the name of the claim. For another lease after the claim's
// end it is the name, "=" and the word.

// lease is how long a claim outlives its process. look is the interval at which waiting processes look at a claim.
const (
	lease = 6 * time.Second
	look  = 25 * time.Millisecond
)

// claimScript claims all keys or none. KEYS: the answer and the claim of each. ARGV: the claim's name, and milliseconds.
var claimScript = redis.NewScript(`
for i = 1, #KEYS, 2 do
  if redis.call('EXISTS', KEYS[i]) == 1 then return {'released'} end
  local held = redis.call('GET', KEYS[i + 1])
  if held and not string.find(held, '=', 1, true) then return {'held', tostring((i - 1) / 2), held} end
end
for i = 2, #KEYS, 2 do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return {'claimed'}`)

// renewScript sets the claims that the holder still has. KEYS: claims. ARGV: the claim's name, its value from now on, and milliseconds.
var renewScript = redis.NewScript(`
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then redis.call('SET', KEYS[i], ARGV[2], 'PX', ARGV[3]) end
end
return 0`)

// endScript gives back the claims that the holder still has.
var endScript = redis.NewScript(`
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then redis.call('DEL', KEYS[i]) end
end
return 0`)

func (r *Redis) claim(key Key) string { return r.body(key) + ":claim" }

// Claim implements Store.
func (r *Redis) Claim(ctx context.Context, keys []Key) (Claim, error) {
	c := &redisClaim{client: r.client, name: rand.Text()}
	var all []string
	for _, key := range keys {
		c.keys = append(c.keys, r.claim(key))
		all = append(all, r.body(key), r.claim(key))
	}
	reply, err := claimScript.Run(ctx, r.client, all, c.name, lease.Milliseconds()).StringSlice()
	if err != nil || len(reply) == 0 {
		return nil, fmt.Errorf("answers: a claim: %w", err)
	}
	switch reply[0] {
	case "released":
		return nil, ErrReleased
	case "held":
		return nil, r.held(keys, reply)
	}
	c.timer = time.AfterFunc(lease/3, c.renew)
	return c, nil
}

// held returns the error for a key that another process has, from the reply of the script.
func (r *Redis) held(keys []Key, reply []string) error {
	if len(reply) != 3 {
		return fmt.Errorf("answers: a claim: an unknown reply %q", reply)
	}
	at, err := strconv.Atoi(reply[1])
	if err != nil || at < 0 || at >= len(keys) {
		return fmt.Errorf("answers: a claim: an unknown reply %q", reply)
	}
	name, holder := r.claim(keys[at]), reply[2]
	return &HeldError{keys[at], func(ctx context.Context) (string, error) { return r.await(ctx, name, holder) }}
}

// await waits until the holder no longer has the claim, and returns the word that it left, if it did. If Redis fails, await returns, since
// there is nothing to wait for.
func (r *Redis) await(ctx context.Context, name, holder string) (word string, err error) {
	pause := time.NewTicker(look)
	defer pause.Stop()
	for {
		value, err := r.client.Get(ctx, name).Result()
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err != nil || value != holder {
			word, _ := strings.CutPrefix(value, holder+"=")
			if word == value { // it belongs to another claim
				word = ""
			}
			return word, nil // the waiting process looks again, and meets any error there
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// A redisClaim is a claim of this process.
type redisClaim struct {
	client *redis.Client
	keys   []string
	name   string

	mu    sync.Mutex
	timer *time.Timer // of the next renewal; nil after the claim has ended
}

// renew extends the claim by another lease. A claim that was lost stays lost.
func (c *redisClaim) renew() {
	ctx, cancel := context.WithTimeout(context.Background(), lease/3)
	defer cancel()
	_ = renewScript.Run(ctx, c.client, c.keys, c.name, c.name, lease.Milliseconds()).Err()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Reset(lease / 3)
	}
}

// End implements Claim. If Redis cannot be reached, it drops the keys after the lease.
func (c *redisClaim) End(ctx context.Context, word string) {
	c.mu.Lock()
	c.timer.Stop()
	c.timer = nil
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease/3)
	defer cancel()
	if word == "" {
		_ = endScript.Run(ctx, c.client, c.keys, c.name).Err()
		return
	}
	_ = renewScript.Run(ctx, c.client, c.keys, c.name, c.name+"="+word, lease.Milliseconds()).Err()
}

// probeClaim tries what claims need of Redis.
func (r *Redis) probeClaim(ctx context.Context, key Key) error {
	c, err := r.Claim(ctx, []Key{key})
	if held := (*HeldError)(nil); errors.As(err, &held) || errors.Is(err, ErrReleased) {
		return nil // another proxy is trying it
	}
	if err == nil {
		c.End(ctx, "")
	}
	return err
}
