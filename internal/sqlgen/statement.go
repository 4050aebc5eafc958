package sqlgen

import (
	"fmt"
	"slices"
	"strings"
)

// A Statement is an aggregate over protected rows.
type Statement struct {
	SQL string
	// Features name its parts: its source, its keys, its aggregates.
	Features []string
	// Outputs are the meanings of its columns, in order.
	Outputs []Output
}

// An Output is the meaning of a column of a statement.
type Output uint8

// CompositeKey is the feature of statements over parts that refer to a key of two columns.
const CompositeKey = "composite key"

// Weighed is the feature of statements of which an aggregate has a weight.
const Weighed = "weight"

// Weighs makes the function of these, for databases without those of dpproxy.
const Weighs = "CREATE SCHEMA dp; CREATE FUNCTION dp.weight(anyelement, float8) RETURNS anyelement LANGUAGE sql AS 'SELECT $1'"

const (
	// Key is a grouping key, or a call of GROUPING.
	Key Output = iota + 1
	// Count is a number of rows, values or units: exact without noise.
	Count
	// Sum is exact on the lattice of its values; of no rows it is 0.
	Sum
	// Average is computed from a sum and a count; of no rows it is a matter of definition.
	Average
	// Variance is computed from three sums.
	Variance
	// Covariance is computed from three sums, one of them of products.
	Covariance
	// Deviation is the root of a variance.
	Deviation
	// All is bool_and. Over no rows it is true, and Any false.
	All
	// Any is bool_or.
	Any
	// Rank is an extreme, a percentile or a mode: of a bucket or a value.
	Rank
)

// An aggregate is one call.
type aggregate struct {
	sql     string
	output  Output
	feature string
}

// Statement makes a statement over the schema.
func (g *Generator) Statement(s *Schema) Statement {
	sources := sourceGenerator{exprGenerator{g.dice}, s}
	var st Statement
	if g.chance(45) {
		st = spellingGenerator{sources}.statement()
	} else {
		st = statementGenerator{sources}.over(sources.source(2))
	}
	if tree, ok := shaped(s, st.SQL); ok {
		return tree
	}
	return st
}

// A statementGenerator makes statements over any source.
type statementGenerator struct{ sourceGenerator }

// over makes a statement over a source.
func (g statementGenerator) over(src source) Statement {
	st := Statement{Features: src.features()}
	if s := g.schema; s.composite && strings.Contains(src.from, s.parts.name) {
		st.Features = append(st.Features, CompositeKey)
	}
	var targets []string
	keys := g.keys(&st, src)
	for _, k := range keys {
		targets = append(targets, k)
		st.Outputs = append(st.Outputs, Key)
	}
	var seen []string
	for range 1 + g.r.IntN(3) {
		a := g.aggregate(src)
		if slices.Contains(seen, a.sql) {
			continue
		}
		seen = append(seen, a.sql)
		if g.chance(10) {
			a.sql = fmt.Sprintf("dp.weight(%s, %s)", a.sql, choose(g, "0.001", "0.5", "3", "1000"))
			st.Features = append(st.Features, Weighed)
		}
		targets = append(targets, a.sql)
		st.Outputs = append(st.Outputs, a.output)
		st.Features = append(st.Features, a.feature)
	}
	semi := ""
	if g.chance(15) {
		if semi = g.semiJoin(src); semi != "" {
			st.Features = append(st.Features, "semi-join")
		}
	}
	where := []string{g.maybe(35, src.cols), semi}
	groups := st.groupBy(g.dice, keys)
	threshold, feature := g.threshold(src, strings.Join(targets, ", ")+src.from+strings.Join(where, ""))
	value, also := g.value(src, strings.Join(targets, ", ")+src.from+strings.Join(where, ""))
	from, refers := src.from, ""
	if !g.schema.composite && len(src.units) > 0 {
		from, refers = referring(src.from, strings.Join(targets, ", ")+src.from+strings.Join(where, ""))
	}
	if refers != "" || from != src.from {
		st.Features = append(st.Features, Referring)
	}
	looked := ""
	if refers == "" && from == src.from && len(src.units) > 0 {
		from, looked, targets = st.look(src.from, targets, strings.Join(where, ""))
	}
	inside, filters := g.inside(src, strings.Join(targets, ", ")+src.from+strings.Join(where, ""))
	if inside != "" {
		st.Features = append(st.Features, Inside)
	}
	if filters {
		targets, st.Outputs = append(targets, "count(*) FILTER (WHERE "+inside+")"), append(st.Outputs, Count)
		inside = ""
	}
	where = append(where, threshold, value, inside, refers, looked)
	for _, f := range []string{feature, also} {
		if f != "" {
			st.Features = append(st.Features, f)
		}
	}
	st.SQL = src.with + "SELECT " + strings.Join(targets, ", ") + " FROM " + from + src.whereClause(where...) + groups
	return st
}

func (g statementGenerator) keys(st *Statement, src source) []string {
	from := src.cols
	if src.keysOnly != nil {
		from = src.keysOnly
	}
	var keys []string
	for range choose(g, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 4, 6) {
		if k := g.key(from); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 && src.keysOnly != nil {
		keys = []string{"l.zone"}
	}
	if len(keys) > 0 {
		st.Features = append(st.Features, fmt.Sprintf("%d keys", len(keys)))
	}
	return keys
}

// groupBy groups by keys, or by sets of them.
func (st *Statement) groupBy(d dice, keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	list := strings.Join(keys, ", ")
	if d.chance(85) {
		return " GROUP BY " + list
	}
	st.Features = append(st.Features, "grouping sets")
	return " GROUP BY " + choose(d, "ROLLUP ("+list+")", "CUBE ("+list+")", "GROUPING SETS (("+list+"), ())",
		"GROUPING SETS (("+keys[0]+"), ("+list+"))")
}

// aggregate writes an aggregate call, with FILTER at times.
func (g statementGenerator) aggregate(src source) aggregate {
	x := g.number(src.cols, 2)
	name := choose(g, "variance", "var_samp", "var_pop", "stddev", "stddev_samp", "stddev_pop")
	spread := Variance
	if strings.HasPrefix(name, "stddev") {
		spread = Deviation
	}
	y := g.number(src.cols, 1)
	if strings.Contains(y, " / ") || strings.Contains(y, " - ") || strings.Contains(y, " * ") {
		spread = Rank // its bounds can be so much wider than its values that the lattice of squares is too coarse for them
	}
	a := choose(g,
		aggregate{"count(*)", Count, "count"},
		aggregate{"count(" + choose(g, src.cols...).name + ")", Count, "count of values"},
		aggregate{"sum(" + x + ")", Sum, "sum"},
		aggregate{"sum(" + x + ")", Sum, "sum"},
		aggregate{"avg(" + x + ")", Average, "avg"},
		aggregate{name + "(" + y + ")", spread, "variance"},
		aggregate{choose(g, "min", "max") + "(" + g.number(src.cols, 1) + ")", Rank, "extreme"},
		aggregate{fmt.Sprintf("%s(%s) WITHIN GROUP (ORDER BY %s)", choose(g, "percentile_cont", "percentile_disc"),
			choose(g, "0.5", "0.25", "0.9"), g.number(src.cols, 1)), Rank, "percentile"},
		aggregate{"mode() WITHIN GROUP (ORDER BY " + choose(g, src.cols...).name + ")", Rank, "mode"},
		aggregate{"count(DISTINCT " + choose(g, src.cols...).name + ")", Count, "count of different values"},
		aggregate{choose(g, "bool_and", "every") + "(" + g.condition(src.cols, 1) + ")", All, "bool_and"},
		g.ofPairs(src),
		aggregate{"bool_or(" + g.condition(src.cols, 1) + ")", Any, "bool_or"},
		g.countUnits(src),
	)
	if g.chance(20) {
		a.sql += " FILTER (WHERE " + g.condition(src.cols, 1) + ")"
		a.feature += " FILTER"
	}
	return a
}

// ofPairs writes an aggregate of two arguments. Correlations and lines divide by a variance, which
// rounding to a lattice can make much of.
func (g statementGenerator) ofPairs(src source) aggregate {
	name := choose(g, "covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_count", "regr_avgx", "regr_avgy")
	kind := Rank
	switch name {
	case "covar_pop", "covar_samp":
		kind = Covariance
	case "regr_count":
		kind = Count
	case "regr_avgx", "regr_avgy":
		kind = Average
	}
	y, x := g.number(src.cols, 1), g.number(src.cols, 1)
	if strings.ContainsAny(x+y, "/-*") && kind == Covariance {
		kind = Rank
	}
	return aggregate{name + "(" + y + ", " + x + ")", kind, "pairs"}
}

func (g statementGenerator) countUnits(src source) aggregate {
	if len(src.units) == 0 {
		return aggregate{"count(*)", Count, "count"}
	}
	if alias, _, _ := strings.Cut(src.units[0], "."); strings.Contains(src.from, "events "+alias) && g.chance(40) {
		return aggregate{"count(" + alias + choose(g, "", ".*") + ")", Count, "count of rows of a table"}
	}
	return aggregate{"count(DISTINCT " + src.units[0] + ")", Count, "count of units"}
}

// look has the statement look up sites, and returns its FROM, another condition and its targets.
func (st *Statement) look(from string, targets []string, where string) (joined, cond string, _ []string) {
	joined, cond, target := looking(from, strings.Join(targets, ", ")+from+where)
	if cond != "" || joined != from {
		st.Features = append(st.Features, Looking)
	}
	if target != "" {
		output := Count
		if strings.HasPrefix(target, "sum(") {
			output = Sum
		}
		targets, st.Outputs = append(targets, target), append(st.Outputs, output)
	}
	return joined, cond, targets
}
