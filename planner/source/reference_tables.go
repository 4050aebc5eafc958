package source

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A row of a reference table is nobody's in particular: it is of whichever row looks it up. That is one of a protected table, or of a
// reference table that is looked up itself, whose columns that refer to the reference table are equal to all columns of the key there:
//
//	customers c JOIN addresses a ON a.id = c.address_id
//
// So the relation follows that one, as a table on the path to the unit is followed where the statement joins it ([paths]), and has
// its unit. Each statement is a function of the pairs (t, R[t.k]) of protected rows t and the rows that they refer to, in every form of
// join. Whatever is no look-up has a unit that is no other's, and is refused as rows of different units are: by a constant or a
// parameter, which would have every row of anybody meet one row of the reference table, by an expression, by a column that does not
// refer to it.
//
// As a key has one row for each value, a row that is looked up is no more than one, and needs no cut.

// ofReference reports whether the relation is a reference table.
func ofReference(r *relation) bool { return r.table != nil && r.table.Reference }

// unitOfReference is the column of the unit of a reference table before anything looks it up. It is no other's, and no value.
func unitOfReference() *scalar.Column { return &scalar.Column{SQL: "NULL"} }

// lookUp has reference tables among relations follow those that look them up: if possible relations that have a unit. In a sub-select
// they may follow others whose unit is that of the row around it.
func (f paths) lookUp(rs, among []*relation, at *resolved, c facts) {
	for _, owned := range []bool{true, false} {
		for again := true; again; {
			again = false
			for _, r := range rs {
				if !ofReference(r) || f[r] != nil {
					continue
				}
				i := slices.IndexFunc(among, func(by *relation) bool {
					end := f.end(by)
					return end != r && (!owned || !ofReference(end)) && looksUp(c, at, by, r)
				})
				if i >= 0 {
					f[r], again = among[i], true
				}
			}
		}
	}
}

// looksUp reports whether rows of one relation look up those of a reference table, as equalities say.
func looksUp(c facts, at *resolved, by, r *relation) bool {
	if !by.protected() || by == r {
		return false
	}
	return slices.ContainsFunc(protectedTables(by, at.view), func(t tableBelow) bool {
		return slices.ContainsFunc(lookups(at.model, t), func(s policy.Step) bool {
			return s.To == r.table && allEqual(c, s.From, s.Key, t.relation.column, r.column)
		})
	})
}

// lookups are the references of a table to reference tables.
func lookups(m *policy.Model, t tableBelow) []policy.Step { return m.Whole(t.relation.table).Lookups }

// joinable are the relations that may look up those of a node which have a row in each of its rows: these, and others of the node that
// have the unit of one of them.
func (f paths) joinable(n node, c facts) []*relation {
	rs := region(n)
	return slices.DeleteFunc(relationsOf(n), func(r *relation) bool {
		return !slices.Contains(rs, r) && !slices.ContainsFunc(rs, func(of *relation) bool {
			return of.protected() && r.protected() && !ofReference(f.end(of)) && f.sameUnit(c, of, r)
		})
	})
}

// unlooked returns a reference table of relations that nothing looks up, nil if there is none.
func (f paths) unlooked(rs []*relation) *relation {
	i := slices.IndexFunc(rs, func(r *relation) bool { return r.protected() && ofReference(f.end(r)) })
	if i < 0 {
		return nil
	}
	return f.end(rs[i])
}

// keyOf writes a column of a reference table that is NULL only where there is no row.
func keyOf(r *relation) string { return r.columns[r.keys()[0][0]].Presence() }

// errUnlooked refuses a reference table whose rows are not looked up.
func errUnlooked(p *resolved, r *relation) error {
	e := pgerr.New(pgerr.Ownership, "rows of the reference table %q are only looked up, by the columns of a protected row that refer to "+
		"them", r.name).At(r.at)
	if p.view != "" {
		return e
	}
	for _, by := range p.relations {
		if !by.protected() || by.rows != nil || ofReference(by) {
			continue
		}
		for _, s := range lookups(p.model, tableBelow{relation: by}) {
			if on := lookUpOf(by.table, by.name, s, r.name); s.To == r.table && on != "" {
				return e.WithHint(lookUpHint, on)
			}
		}
	}
	if on := fromAnywhere(p.model, r); on != "" {
		return e.WithHint(lookUpHint, on)
	}
	return e.WithHint("No column that a statement can name refers to it.")
}

const lookUpHint = "Join it by its whole key, or compare that in EXISTS: %s. Of an outer join it is the nullable side."

// errMayBeNull refuses IN of a column that may be NULL: whether it is NULL then, or false, is whether the reference table has any row.
func errMayBeNull(r *relation, at int) error {
	return pgerr.New(pgerr.Ownership, "IN of a column that may be NULL would say whether the reference table %q has rows", r.name).At(at).
		WithHint("Use EXISTS, with an equality of that column and the key.")
}

// fromAnywhere writes the equalities by which a row of some table looks up the reference table; "" if a statement can name none.
// Protected tables come first.
func fromAnywhere(m *policy.Model, r *relation) string {
	for _, references := range []bool{false, true} {
		for _, n := range m.Protected() {
			from := m.Table(n)
			for _, s := range from.Lookups {
				if on := lookUpOf(from, from.Name.Name, s, r.name); from.Reference == references && s.To == r.table && on != "" {
					return on
				}
			}
		}
	}
	return ""
}

// lookUpOf writes the equalities of a look-up; "" if one of the columns is hidden.
func lookUpOf(from *policy.Table, as string, s policy.Step, to string) string {
	if slices.ContainsFunc(s.From, from.Hides) || slices.ContainsFunc(s.Key, s.To.Hides) {
		return ""
	}
	var equal []string
	for i := range s.From {
		equal = append(equal, fmt.Sprintf("%s.%s = %s.%s", to, s.Key[i], as, s.From[i]))
	}
	return strings.Join(equal, " AND ")
}
