package advice

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
)

// A Table is a protected table, with its entry in the policy.
type Table struct {
	Name catalog.Name
	// Unit is the table's own column of the privacy unit. If it is empty, the column Via
	// refers to the column Key of the table To; Key is empty where Via is the first of several.
	Unit     string
	Via, Key string
	To       catalog.Name
	// OneRow says that a unit has one row in the table.
	OneRow bool
	// Used are the columns that statements may aggregate or group by.
	Used []string
}

// A Step is a statement for the protected database, and why it is of use.
type Step struct {
	Table  string `json:"table"`
	Reason string `json:"reason"`
	SQL    string `json:"sql"`
}

// widest is how many columns an index is given beside its key: more would make it as
// wide as its table.
const widest = 8

// Steps returns the steps that are missing, in the order of the tables. After all
// steps are done, none are left.
func Steps(tables []Table, relations map[catalog.Name]*Relation) []Step {
	a := &adviser{relations: relations}
	for _, t := range tables {
		if r := relations[t.Name]; r != nil {
			a.table(t, r, tables)
		}
	}
	return a.steps
}

type adviser struct {
	relations map[catalog.Name]*Relation
	steps     []Step
}

// step adds a step, once.
func (a *adviser) step(r *Relation, reason, sql string) {
	s := Step{r.SQL, reason, sql}
	if !slices.Contains(a.steps, s) {
		a.steps = append(a.steps, s)
	}
}

func (a *adviser) table(t Table, r *Relation, tables []Table) {
	switch {
	case t.Unit == "":
		a.index(r, t.Via, t.Used, "the rows of one "+t.To.Name+" row stand together, to be joined with it")
		a.next(t, tables)
	case r.unique(t.Unit) || t.OneRow && r.Kind == 'r':
		a.key(r, t.Unit)
	default:
		a.index(r, t.Unit, t.Used, "the rows of one privacy unit stand together, to be counted without a sort")
	}
	a.options(r)
}

// next lets the table that another leads through be read as pairs of its key and the
// columns that lead on from it.
func (a *adviser) next(t Table, tables []Table) {
	r := a.relations[t.To]
	i := slices.IndexFunc(tables, func(o Table) bool { return o.Name == t.To })
	if r == nil || i < 0 {
		return
	}
	on := tables[i].Unit
	if on == "" {
		on = tables[i].Via
	}
	if t.Key != "" && on != t.Key {
		a.index(r, t.Key, []string{on}, "the way from "+t.Name.Name+" to the privacy unit leads through these columns alone")
	}
}

// index advises an index that begins with a column and has the others beside it, as far
// as they are narrow.
func (a *adviser) index(r *Relation, first string, others []string, reason string) {
	var include []string
	for _, c := range others {
		if r.Columns[c].Narrow && c != first && !slices.Contains(include, c) && len(include) < widest {
			include = append(include, c)
		}
	}
	if r.covers(first, include) {
		return
	}
	sql := fmt.Sprintf("CREATE INDEX ON %s (%s)", r.SQL, r.Columns[first].SQL)
	if len(include) > 0 {
		names := make([]string, len(include))
		for i, c := range include {
			names[i] = r.Columns[c].SQL
		}
		sql += " INCLUDE (" + strings.Join(names, ", ") + ")"
	}
	a.step(r, reason, sql)
}

// key advises the constraint that proves that a unit has one row: nothing has to be counted per
// unit then.
func (a *adviser) key(r *Relation, column string) {
	const reason = "proves one row for each privacy unit, so that nothing is counted per unit"
	if !r.Columns[column].NotNull {
		a.step(r, reason, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET NOT NULL", r.SQL, r.Columns[column].SQL))
	}
	if !r.unique(column) {
		a.step(r, reason, fmt.Sprintf("CREATE UNIQUE INDEX ON %s (%s)", r.SQL, r.Columns[column].SQL))
	}
}

// insertScale is the share of new rows after which vacuum should mark pages as visible
// to all.
const insertScale = 0.02

// options advises options of the tables that hold the rows.
func (a *adviser) options(r *Relation) {
	for _, l := range r.Leaves {
		part := &Relation{SQL: l.SQL}
		if l.InsertScale > insertScale {
			a.step(part, "an index answers alone only for pages that vacuum has visited since rows were added",
				fmt.Sprintf("ALTER TABLE %s SET (autovacuum_vacuum_insert_scale_factor = %v)", l.SQL, insertScale))
		}
		if !l.Autovacuum {
			a.step(part, "without vacuum no index answers alone", fmt.Sprintf("ALTER TABLE %s RESET (autovacuum_enabled)", l.SQL))
		}
		if l.Serial {
			a.step(part, "lets several processes read the table", fmt.Sprintf("ALTER TABLE %s RESET (parallel_workers)", l.SQL))
		}
	}
}
