package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"dpproxy/config"
)

// reload reads the policy and the certificates anew. Either all of it holds from now
// on, or nothing of it. The keys of the ledger, the catalogue and the connections cannot
// change while dpproxy runs.
func (v *service) reload(ctx context.Context) error {
	policy, err := config.Load(v.host.path)
	if err != nil {
		return err
	}
	old := v.host.policy
	if fixed := fixedKeys(old, policy); len(fixed) > 0 {
		return fmt.Errorf("%s changed: that needs a restart", strings.Join(fixed, ", "))
	}
	next := newHost(&site{path: v.host.path, policy: policy, secret: v.host.secret}, v.host.aside, v.host.keeper)
	cfg, err := next.wireConfig(ctx, v.proxy, v.auth, v.log)
	if err != nil {
		return err
	}
	if err := v.server.Reload(cfg); err != nil {
		return err
	}
	v.host = next
	v.proxy.Reload(next.analysts(), next.defaults())
	for _, name := range changedLogins(old, policy) {
		v.server.Disconnect(name)
	}
	return nil
}

// fixedKeys returns the keys whose values differ and cannot change.
func fixedKeys(old, policy *config.Policy) []string {
	var changed []string
	for _, k := range []struct {
		name     string
		old, new any
	}{
		{"listen", old.Listen, policy.Listen},
		{"health", old.Health, policy.Health},
		{"data", []string{old.Data, old.DataPasswordFile}, []string{policy.Data, policy.DataPasswordFile}},
		{
			"mirror",
			[]string{old.Mirror, old.MirrorAdmin, old.MirrorPasswordFile},
			[]string{policy.Mirror, policy.MirrorAdmin, policy.MirrorPasswordFile},
		},
		{"auth_query", old.AuthQuery, policy.AuthQuery},
		{"ledger", old.Ledger, policy.Ledger},
		{"secret_file", old.SecretFile, policy.SecretFile},
		{"privacy_unit", []any{old.Tables.Unit, old.Unit}, []any{policy.Tables.Unit, policy.Unit}},
		{"tables", []any{old.Tables.Tables, old.TableBudgets}, []any{policy.Tables.Tables, policy.TableBudgets}},
		{"limits.max_join_rows", old.Tables.JoinRows, policy.Tables.JoinRows},
		{"limits.data_connections", old.Limits.DataConnections, policy.Limits.DataConnections},
		{"limits.analyst_data_connections", old.Limits.AnalystDataConnections, policy.Limits.AnalystDataConnections},
		{"limits.data_queue", old.Limits.DataQueue, policy.Limits.DataQueue},
		{"limits.analyst_data_queue", old.Limits.AnalystDataQueue, policy.Limits.AnalystDataQueue},
		{"limits.statement_timeout", old.Limits.StatementTimeout, policy.Limits.StatementTimeout},
		{"answers", old.Answers, policy.Answers},
	} {
		if !reflect.DeepEqual(k.old, k.new) {
			changed = append(changed, k.name)
		}
	}
	if budgetsChanged(old, policy) {
		changed = append(changed, "budget of an analyst")
	}
	return changed
}

// budgetsChanged reports whether an analyst has another budget than before. One who is
// gone has none any more.
func budgetsChanged(old, policy *config.Policy) bool {
	return slices.ContainsFunc(policy.Analysts, func(b config.Analyst) bool {
		for _, a := range old.Analysts {
			if a.Name == b.Name {
				return !reflect.DeepEqual(a.Budget, b.Budget)
			}
		}
		return b.Budget != nil
	})
}

// changedLogins returns the analysts who are gone or prove who they are in another way.
func changedLogins(old, policy *config.Policy) []string {
	var names []string
	for _, a := range old.Analysts {
		same := slices.ContainsFunc(policy.Analysts, func(b config.Analyst) bool {
			return a.Name == b.Name && a.Verifier == b.Verifier && slices.Equal(a.Certificates, b.Certificates)
		})
		if !same {
			names = append(names, a.Name)
		}
	}
	return names
}
