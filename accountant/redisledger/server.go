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
	bad := checkInfo(info)
	for _, r := range required {
		got, err := c.ConfigGet(ctx, r.name).Result()
		switch value, shown := got[r.name]; {
		case shown && value != r.value:
			bad = append(bad, fmt.Sprintf("%s is %q and must be %q", r.name, value, r.value))
		case !shown && !asserted:
			bad = append(bad, fmt.Sprintf("%s is hidden (%v) and must be %q", r.name, hidden(err), r.value))
		}
	}
	if len(bad) > 0 {
		return &DurabilityError{bad}
	}
	return nil
}

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
