package proxy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dpproxy/parser"
	"dpproxy/parser/repair"
	"dpproxy/planner"
	"dpproxy/planner/work"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// coarsely names how a key is taken, for package repair.
var coarsely = map[planner.Coarseness]string{
	planner.AsItIs: "", planner.ByMonth: "month", planner.ByYear: "year", planner.LeftOut: repair.LeftOut,
}

// coarser returns a statement that asks for larger groups than the private ones of a plan, which are public; "" if none is known. It
// follows from the statement, the policy and public rows alone. The mirror is not asked, since its errors would be the statement's.
func coarser(ctx context.Context, e *execution, plan *planner.Plan, params []uint32) string {
	c := planner.CoarserOf(plan)
	if c == nil || c.Keys == nil || e.part != nil {
		return ""
	}
	var keys []string
	for _, k := range c.Keys {
		keys = append(keys, coarsely[k])
	}
	t := trial{
		work: work.New(ctx, work.Brief), cat: e.p.cfg.Catalog, granted: e.p.analyst(e.analyst).Tables, params: params,
		plans: func(string) (int64, error) { return 0, nil },
	}
	found := repair.Coarser(e.text.stmt.Text, t.cat.Schema(), keys)
	if i := slices.IndexFunc(found, func(c repair.Candidate) bool { return t.analyses(c.SQL) == nil }); i >= 0 {
		return found[i].String()
	}
	return ""
}

// unshown says that no private group has enough people, and which statement asks for larger ones.
func unshown(
	ctx context.Context, e *execution, plan *planner.Plan, released [][]*planner.Released, pre *prelude, params []uint32,
) []wire.Notice {
	fewest, none := planner.ShownFrom(plan, released)
	if !none || pre.settings.Notice == settings.Silence || e.text.stmt.Class != parser.Release {
		return nil
	}
	n := wire.Notice{Code: "00000", Message: fmt.Sprintf("No group is shown: %s units (%s).", fewest, plan.Unit())}
	if try := coarser(ctx, e, plan, params); try != "" {
		n.Hint = "Try: " + try + "."
	}
	n.Detail = wouldBePublic(plan)
	return []wire.Notice{n}
}

// wouldBePublic says which declarations would make private groups public; "" if none is known.
func wouldBePublic(plan *planner.Plan) string {
	c := planner.CoarserOf(plan)
	if c == nil || len(c.Undeclared) == 0 {
		return ""
	}
	return "The policy declares neither values nor bounds of " + strings.Join(c.Undeclared, ", ") +
		". If each has few values, declaring them makes the groups public."
}
