package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/planner/policy"
)

// reload reads the policy and the certificates anew. Either all of it holds from now
// on, or nothing of it, but for limits that the ledger has lowered by then. The keys of the ledger, the catalogue and
// the connections cannot change while dpproxy runs.
func (v *service) reload(ctx context.Context) error {
	policy, err := config.Load(v.host.path)
	if err != nil {
		return err
	}
	old := v.host.policy
	if fixed := fixedKeys(old, policy); len(fixed) > 0 {
		return fmt.Errorf("that needs a restart: %s", strings.Join(fixed, "; "))
	}
	next := newHost(&site{path: v.host.path, policy: policy, secret: v.host.secret}, v.host.aside, v.host.keeper)
	cfg, err := next.wireConfig(ctx, v.proxy, v.auth, v.log)
	if err != nil {
		return err
	}
	if err := v.reloadBudgets(ctx, old, policy); err != nil {
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

// reloadBudgets has the ledger add budgets and lower limits, as a start would: raising one takes a decision.
func (v *service) reloadBudgets(ctx context.Context, old, now *config.Policy) error {
	before, err := old.Scopes()
	if err != nil {
		return err
	}
	limits, err := now.Scopes()
	if err != nil || slices.Equal(before, limits) {
		return err
	}
	ledger, ok := v.ledger.(interface {
		SetLimits(ctx context.Context, limits []accountant.Limit) error
	})
	if !ok {
		return fmt.Errorf("a %T has fixed limits", v.ledger)
	}
	if err := ledger.SetLimits(ctx, limits); err != nil {
		return v.host.books.advise(err)
	}
	return v.proxy.ReloadBudgets(ctx)
}

// fixedKeys returns the keys whose values differ and cannot change, with both values.
func fixedKeys(old, now *config.Policy) []string {
	var changed []string
	for _, k := range []struct {
		name     string
		old, new any
	}{
		{"listen", old.Listen, now.Listen},
		{"health", old.Health, now.Health},
		{"data", []string{old.Data, old.DataPasswordFile}, []string{now.Data, now.DataPasswordFile}},
		{
			"mirror",
			[]string{old.Mirror, old.MirrorAdmin, old.MirrorPasswordFile},
			[]string{now.Mirror, now.MirrorAdmin, now.MirrorPasswordFile},
		},
		{"auth_query", old.AuthQuery, now.AuthQuery},
		{"ledger", old.Ledger, now.Ledger},
		{"secret_file", old.SecretFile, now.SecretFile},
		{"privacy_unit.name", old.Tables.Unit, now.Tables.Unit},
		{"privacy_unit.units", old.Tables.Units, now.Tables.Units},
		{"limits.max_join_rows", old.Tables.JoinRows, now.Tables.JoinRows},
		{"limits.data_connections", old.Limits.DataConnections, now.Limits.DataConnections},
		{"limits.analyst_data_connections", old.Limits.AnalystDataConnections, now.Limits.AnalystDataConnections},
		{"limits.data_queue", old.Limits.DataQueue, now.Limits.DataQueue},
		{"limits.analyst_data_queue", old.Limits.AnalystDataQueue, now.Limits.AnalystDataQueue},
		{"limits.statement_timeout", old.Limits.StatementTimeout, now.Limits.StatementTimeout},
		{"answers", old.Answers, now.Answers},
	} {
		if !reflect.DeepEqual(k.old, k.new) {
			changed = append(changed, k.name+difference(k.old, k.new))
		}
	}
	return append(changed, changedTables(old.Tables.Tables, now.Tables.Tables)...)
}

// difference writes two values of a key that can be written.
func difference(old, now any) string {
	switch old.(type) {
	case string, int, int64, time.Duration:
		return fmt.Sprintf(" was %v, and is %v", old, now)
	}
	return " has changed" // a value of several parts, or that holds an address
}

// changedTables lists the tables that are described in another way, that have come, or are gone.
func changedTables(old, now []policy.TablePolicy) []string {
	byName := func(all []policy.TablePolicy) map[catalog.Name]policy.TablePolicy {
		out := map[catalog.Name]policy.TablePolicy{}
		for _, t := range all {
			out[t.Name] = t
		}
		return out
	}
	was, is := byName(old), byName(now)
	var changed []string
	for _, t := range now {
		switch before, known := was[t.Name]; {
		case !known:
			changed = append(changed, fmt.Sprintf("tables.%v is new", t.Name))
		case !reflect.DeepEqual(before, t):
			changed = append(changed, fmt.Sprintf("tables.%v has changed", t.Name))
		}
	}
	for _, t := range old {
		if _, there := is[t.Name]; !there {
			changed = append(changed, fmt.Sprintf("tables.%v is gone", t.Name))
		}
	}
	return changed
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
