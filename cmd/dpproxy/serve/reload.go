package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"dpproxy/cmd/dpproxy/drift"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/config"
	"dpproxy/mirror"
)

// reload reads the policy and the certificates again. If it fails, the old policy serves on, but the ledger may already have the new
// budgets (see rule). The address, the ledger, its secret and the unit cannot change while dpproxy runs. If the policy permits less than
// the mirror shows, the error says so, whatever else is wrong with the policy.
func (v *service) reload(ctx context.Context) (err error) {
	v.turn.Lock()
	defer v.turn.Unlock()
	defer func() { doorkeeper{v}.heed(err) }()
	g := v.now.Load()
	read, err := site.Open(g.Path)
	if err != nil {
		return err
	}
	v.wanted = read
	doorkeeper{v}.heed(drift.Of(read).Permitted(ctx)) // also if the sync below repairs the mirror: sessions hold rows
	if read.Policy.SyncItself && len(fixedKeys(g.Site, read)) == 0 {
		if err := drift.Of(read).SyncItself(ctx, true, func(change string) { v.log.Info("mirror", "change", change) }); err != nil {
			v.log.Error("dpproxy does not sync by itself: the administrator must look", "reason", err, "to do", confirmHint)
		}
	}
	return v.adopt(ctx)
}

// adopt makes the wanted policy serve. Until it is proved that the mirror shows no more than the wanted policy permits, it remains the
// wanted one, even if a step fails. Otherwise another policy could open the door to a mirror that was never made for the wanted one, or a
// stricter policy could be forgotten because a server was away. The caller has the turn.
func (v *service) adopt(ctx context.Context) (err error) {
	read, g := v.wanted, v.now.Load()
	if err := drift.Of(read).Permitted(ctx); err != nil {
		return err
	}
	defer func() {
		if !isUnsafe(err) {
			v.wanted = nil
		}
	}()
	old, policy := g.Policy, read.Policy
	if fixed := fixedKeys(g.Site, read); len(fixed) > 0 {
		return v.untilRestart("that needs a restart: " + strings.Join(fixed, "; "))
	}
	next := newHost(read)
	next.desk = g.desk
	health := v.health
	if policy.Health != old.Health {
		if health, err = v.serveHealth(ctx, policy.Health); err != nil {
			return err
		}
	}
	built, err := v.build(ctx, next, g)
	if err != nil {
		if health != v.health {
			health.stop()
		}
		return err
	}
	if health != v.health {
		v.health.stop()
		v.health = health
	}
	v.replace(built)
	v.logChanges(built.outlook, nil)
	for _, name := range changedLogins(old, policy, g.authorities.Equal(next.authorities)) {
		v.server.Disconnect(name)
	}
	if built.keys.mirror != g.keys.mirror {
		for _, a := range policy.Analysts {
			v.server.Disconnect(a.Name) // their sessions are on the former mirror
		}
	}
	doorkeeper{v}.open()
	return nil
}

// untilRestart returns the error of a policy that cannot serve before a restart. If the door was closed because of this policy, it remains
// closed: the old policy would show the same rows again.
func (v *service) untilRestart(why string) error {
	if v.door.Load() != nil {
		return &mirror.UnsafeError{Reason: why}
	}
	return errors.New(why)
}

// build makes the generation of a policy that follows another, gives its budgets to the ledger, and configures the server for new log-ins.
func (v *service) build(ctx context.Context, next *Host, before *generation) (_ *generation, err error) {
	g, err := next.open(ctx, before)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.closeBut(before))
		}
	}()
	cfg, err := next.wireConfig(ctx, v, g.auth)
	if err != nil {
		return nil, err
	}
	if err := g.openProxy(ctx, v.ledger, before, v.log); err != nil {
		return nil, err
	}
	if err := v.rule(ctx, g); err != nil {
		return nil, err
	}
	return g, v.server.Reload(cfg)
}

// fixedKeys returns the keys that cannot change while dpproxy runs and whose values differ, with both values if they can be shown.
func fixedKeys(old, now *site.Site) []string {
	var changed []string
	was, is := old.Policy.Ledger, now.Policy.Ledger
	for _, k := range []struct{ name, old, new string }{
		{"listen", old.Policy.Listen, now.Policy.Listen},
		{"ledger.dir", was.Dir, is.Dir},
		{"ledger.redis", address(was.Redis), address(is.Redis)},
		{"ledger.name", was.Name, is.Name},
		{"ledger.redis_password_file", was.PasswordFile, is.PasswordFile},
		{"ledger.replicas", fmt.Sprint(was.Replicas), fmt.Sprint(is.Replicas)},
		{"ledger.asserted_durable", was.AssertedDurable, is.AssertedDurable},
		{"ledger.witness", address(was.Witness), address(is.Witness)},
		{"privacy_unit.name", old.Policy.Tables.Unit, now.Policy.Tables.Unit},
	} {
		if k.old != k.new {
			changed = append(changed, fmt.Sprintf("%s was %s, and is %s", k.name, cmp.Or(k.old, "unset"), cmp.Or(k.new, "unset")))
		}
	}
	if !sameLocal(old.Policy, now.Policy) {
		changed = append(changed, "the tables of the local model are others")
	}
	if !slices.Equal(old.Secret, now.Secret) {
		changed = append(changed,
			fmt.Sprintf("the secret in %s is another than that in %s was", now.Policy.SecretFile, old.Policy.SecretFile))
	}
	return changed
}

// address returns a URL without its password.
func address(of string) string {
	u, err := url.Parse(of)
	if err != nil {
		return "a URL that cannot be shown"
	}
	return u.Redacted()
}

// changedLogins returns the analysts who are removed, or who must log in in another way. Certificates that were signed by other authorities
// prove nothing about the former names.
func changedLogins(old, policy *config.Policy, sameAuthorities bool) []string {
	var names []string
	for _, a := range old.Analysts {
		same := slices.ContainsFunc(policy.Analysts, func(b config.Analyst) bool {
			return a.Name == b.Name && a.Verifier == b.Verifier && slices.Equal(a.Certificates, b.Certificates) &&
				(sameAuthorities || len(a.Certificates) == 0)
		})
		if !same {
			names = append(names, a.Name)
		}
	}
	return names
}

// sameLocal reports whether two policies have the same local tables.
func sameLocal(a, b *config.Policy) bool { return reflect.DeepEqual(a.Local, b.Local) }
