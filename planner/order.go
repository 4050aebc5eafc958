package planner

import (
	"slices"
	"strings"

	"dpproxy/catalog"
)

// indexVersion is the server_version_num from which plans rely on indexes. Before it, Postgres
// changes the flags of an index in place, so that a snapshot does not tell what they are: a
// check of the index in the snapshot of a read could be passed and the index not be used.
const indexVersion = 140000

// A Lookup is what a plan needs an index for: the rows of one unit are found by the column
// of the table that names it. Which rows are found does not depend on the index, only how
// long that takes.
type Lookup struct {
	Table  catalog.Name
	Column string
}

// Lookups are those of all tables in which an index finds the rows of one unit, sorted.
func (c *Catalog) Lookups() []Lookup {
	var out []Lookup
	for n, t := range c.tables {
		if t.unitIndex(nil) {
			out = append(out, Lookup{n, t.unit.column})
		}
	}
	slices.SortFunc(out, func(a, b Lookup) int { return strings.Compare(a.Table.String(), b.Table.String()) })
	return out
}

// Lookups are those that the reads of the plan make.
func (p *Plan) Lookups() []Lookup {
	var out []Lookup
	for _, b := range p.Blocks {
		if !b.looksUp() {
			continue
		}
		t := b.block.source.scanned().table
		if l := (Lookup{t.name, t.unit.column}); !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

func (b *BlockPlan) looksUp() bool {
	return !b.Known && slices.ContainsFunc(b.Parts, func(p *Part) bool {
		return slices.ContainsFunc(p.Reads, func(r *Read) bool { return r.lookup })
	})
}

// scanned returns the relation whose rows are all that the level reads, or nil: a join, a
// derived table, a path to the unit and a sub-select read more.
func (s *source) scanned() *relation {
	r, ok := s.root.(*relation)
	if !ok || r.rows != nil || r.cut > 0 || len(r.hops) > 0 || len(s.semijoins) > 0 {
		return nil
	}
	return r
}

// unitIndexed reports whether an index finds the rows of one unit. It is known from the
// schema alone, as are all choices among statements: what the rows are must not decide.
func (bd *binding) unitIndexed() bool { return bd.unitIndex(nil) }

// unitOrdered reports whether an index alone has all that the level uses, unit by unit. If
// the rows had to be looked up as well, one after the other, a sort would be faster.
func (bd *binding) unitOrdered() bool {
	var names []string
	for _, c := range bd.b.source.used() {
		names = append(names, c.Name)
	}
	return bd.unitIndex(names)
}

// unitIndex reports whether an index of the only table begins with the unit and has the
// columns.
func (bd *binding) unitIndex(columns []string) bool {
	r := bd.b.source.scanned()
	return r != nil && !slices.Contains(bd.settings.Unindexed, r.table.name) && r.table.unitIndex(columns)
}

// unitIndex reports whether an index of the table begins with its unit and has the columns.
// Domains are cast, and partitions have indexes of their own: both are left out.
func (t *table) unitIndex(columns []string) bool {
	if t.public || t.source.Kind != 'r' || len(t.unit.steps) > 0 {
		return false
	}
	if c, ok := t.source.Column(t.unit.column); !ok || c.Type.Kind == 'd' {
		return false
	}
	return slices.ContainsFunc(t.sorted, func(i catalog.Index) bool {
		return i.Columns[0] == t.unit.column && !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(i.Columns, c) })
	})
}
