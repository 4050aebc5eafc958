package redisledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A server is the connection to the Redis that keeps a ledger.
type server struct {
	client   *redis.Client
	key, id  string
	replicas int
	patience time.Duration
	asserted bool // an operator vouches for the settings that the server hides
	// doubt is why the last entries that were sent are not known to be durable, though they may have landed. The server is
	// looked at before the next ones.
	doubt error
}

// key returns the name of a ledger's hash.
func (o Options) key() string { return "dp:" + o.Name }

// server returns the server that a client is connected to; the ledger's ID is not known yet.
func (o Options) server(client *redis.Client) *server {
	return &server{
		client: client, key: o.key(), replicas: o.Replicas, patience: o.patience(), asserted: o.AssertedDurable != "",
	}
}

// A DurabilityError says which settings of Redis would lose acknowledged entries.
type DurabilityError struct{ Settings []string }

// Error implements error.
func (e *DurabilityError) Error() string {
	return "redisledger: this Redis would lose acknowledged entries: " + strings.Join(e.Settings, "; ")
}

// required are the settings without which a crash loses acknowledged entries.
var required = []struct{ name, value string }{
	{"appendonly", "yes"},
	{"appendfsync", "always"},
	{"no-appendfsync-on-rewrite", "no"},
	{"aof-load-truncated", "no"},
	{"maxmemory-policy", "noeviction"},
}

// dial opens a client whose every connection checks the server first.
func dial(o Options) (*redis.Client, error) {
	opts, err := redis.ParseURL(o.URL)
	if err != nil {
		return nil, fmt.Errorf("redisledger: the URL of Redis: %w", err)
	}
	if o.Password != "" {
		opts.Password = o.Password
	}
	opts.MaxRetries = -1 // an unknown outcome is the ledger's business
	opts.DisableIdentity = true
	opts.ContextTimeoutEnabled = true
	// A lost reply must leave time to try again; WAIT takes a quarter of the patience.
	opts.ReadTimeout, opts.WriteTimeout, opts.DialTimeout = o.patience()/3, o.patience()/3, o.patience()/3
	opts.OnConnect = func(ctx context.Context, c *redis.Conn) error { return checkServer(ctx, c, o.AssertedDurable != "") }
	return redis.NewClient(opts), nil
}

// checkServer refuses a server that would lose acknowledged entries. Where an
// operator asserts that the settings are right, those that are hidden pass.
func checkServer(ctx context.Context, c redis.Cmdable, asserted bool) error {
	info, err := c.InfoMap(ctx, "server", "persistence", "replication").Result()
	if err != nil {
		return fmt.Errorf("redisledger: INFO: %w", err)
	}
	pipe := c.Pipeline()
	settings := askSettings(ctx, pipe)
	if _, err := pipe.Exec(ctx); err != nil && ctx.Err() != nil {
		return err
	}
	return undurable(append(checkInfo(info), settings.bad(asserted)...))
}

func undurable(bad []string) error {
	if len(bad) == 0 {
		return nil
	}
	return &DurabilityError{bad}
}

// settings are the replies to CONFIG GET, in the order of [required].
type settings []*redis.MapStringStringCmd

// askSettings asks for the required settings.
func askSettings(ctx context.Context, pipe redis.Pipeliner) (all settings) {
	for _, r := range required {
		all = append(all, pipe.ConfigGet(ctx, r.name))
	}
	return all
}

// bad says which settings lose acknowledged entries.
func (s settings) bad(asserted bool) (bad []string) {
	for i, r := range required {
		got, err := s[i].Result()
		switch value, shown := got[r.name]; {
		case shown && value != r.value:
			bad = append(bad, fmt.Sprintf("%s is %q and must be %q", r.name, value, r.value))
		case !shown && !asserted:
			bad = append(bad, fmt.Sprintf("%s is hidden (%v) and must be %q", r.name, hidden(err), r.value))
		}
	}
	return bad
}

// check looks at the server through the connection that the ledger uses.
func (s *server) check(ctx context.Context) error { return checkServer(ctx, s.client, s.asserted) }

func hidden(err error) string {
	if err != nil {
		return err.Error()
	}
	return "CONFIG GET does not show it"
}

// checkInfo judges a server's own report.
func checkInfo(info map[string]map[string]string) (bad []string) {
	want := func(section, name, value string) {
		if got := info[section][name]; got != value {
			bad = append(bad, fmt.Sprintf("%s is %q and must be %q", name, got, value))
		}
	}
	want("Replication", "role", "master")
	want("Persistence", "loading", "0")
	want("Persistence", "aof_enabled", "1")
	want("Persistence", "aof_last_write_status", "ok")
	want("Persistence", "aof_last_bgrewrite_status", "ok")
	return bad
}
