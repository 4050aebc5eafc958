package source

import (
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// ofSameUnit returns the sub-select as part of this level. It refuses one whose rows need not be
// of the unit of the row around it.
func (p *proof) ofSameUnit(t *terms, j *semijoin) (*semijoin, error) {
	inner := j.inner
	unit := p.model.Unit()
	switch {
	case inner.declares: // some of its rows belong to nobody
		return nil, notHere(j.at, "Use INNER JOIN there.",
			"a public relation that is outer-joined with protected rows can only stand in FROM of the aggregate itself")
	case !inner.Protected() && !inner.refersOut() && inner.match == nil: // it is the same for all rows
		return nil, notHere(j.at, "Compare a column of the sub-select with one of the query around it by =.",
			"a sub-select on protected data that says nothing of the row cannot be used")
	case !inner.Protected() && (!j.not || j.valued): // public rows decide
		return j, nil
	case inner.Protected() && !p.Protected(): // rows of any unit would decide about a row of no unit
		return nil, pgerr.New(pgerr.Ownership, "whether a public row is kept depends on protected rows").At(j.at).
			WithHint("Join the protected rows in FROM.")
	}
	// NOT IN is NULL for every row as soon as the sub-select has one NULL, whosever it is: it takes
	// units alone, which are never NULL.
	if j.not && !p.comparesUnits(j) && !j.valued {
		return nil, notHere(j.at, "Use NOT EXISTS with an equality, or IN.",
			"NOT IN (SELECT ...) on protected data takes columns that identify the %s on both sides", unit)
	}
	// The equalities of both levels hold where a row of the sub-select counts. Together they must
	// say that the units are equal.
	follows := inner.follows.with(p.follows)
	c := facts{p.typ.Meet(inner.typ, inner.counting())}
	follows.lookUp(inner.relations, p.follows.joinable(p.root, facts{p.typ}), p.resolved, c)
	switch r := follows.unlooked(inner.relations); {
	case r == nil || r == follows.end(p.owner):
	case inner.unmatched && inner.view == "":
		return nil, errMayBeNull(r, j.at)
	default:
		return nil, errUnlooked(inner.resolved, r)
	}
	if !follows.sameUnit(c, inner.owner, p.owner) {
		hint := "Compare the columns that identify the " + unit + " on both sides."
		if inner.unmatched && (p.Tagged() || inner.Tagged()) { // one NULL among the rows of anybody decides
			hint = "Use EXISTS with an equality of the columns that identify the " + unit + ": IN can be NULL here."
		}
		return nil, pgerr.New(pgerr.Ownership, "rows of a sub-select need not belong to the same %s as the row around it", unit).At(j.at).
			WithHint("%s", hint)
	}
	if err := p.meets(t, j); err != nil {
		return nil, err
	}
	follows.add(region(inner.root), region(p.root), c)
	if !reachesUnits(p, inner) {
		return nil, errUnitBeyond(inner.united[0].from)
	}
	return j.along(follows), nil
}

// along is the sub-select where tables follow others, as they do on the levels around it. It is a
// copy: on its own, the sub-select stays as it was proved.
func (j *semijoin) along(follows paths) *semijoin {
	part, inner, rows, proved := *j, *j.inner, *j.inner.bounded, *j.inner.proof
	proved.follows = proved.follows.with(follows)
	proved.semijoins = allAlong(proved.semijoins, proved.follows)
	inner.later = allAlong(inner.later, proved.follows)
	rows.proof, inner.bounded, part.inner = &proved, &rows, &inner
	return &part
}

func allAlong(list []*semijoin, follows paths) []*semijoin {
	var out []*semijoin
	for _, j := range list {
		out = append(out, j.along(follows))
	}
	return out
}

// comparesUnits reports whether both sides of IN identify the unit, each on its own level
// alone: neither is NULL then.
func (p *proof) comparesUnits(j *semijoin) bool {
	inner := j.inner
	if !inner.Protected() || len(inner.match.Columns()) != 2 {
		return false
	}
	a, b, ok := scalar.Equality(inner.match)
	if !ok {
		return false
	}
	if inner.isOuter(b) {
		a, b = b, a
	}
	return p.IsUnit(&scalar.Ref{Column: a}) && inner.alone.Equal(col(b), inner.alone.Unit)
}
