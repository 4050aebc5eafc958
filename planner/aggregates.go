package planner

import (
	"dpproxy/parser"
	"dpproxy/pgerr"
)

// A measureKind is what is read from the database for an aggregate. An
// aggregate that the analyst wrote is derived from one or two measures.
type measureKind uint8

const (
	countRows   measureKind = iota + 1 // rows
	countValues                        // rows whose column is not NULL
	sumValues                          // sum of the clamped column
	sumCentred                         // sum of the clamped column's distance from the middle of its bounds
)

// measure is one exact aggregate. Equal measures of a block are read once.
type measure struct {
	kind    measureKind
	col     *column // nil for countRows
	lattice lattice // of sums
}

// output is one column of the released relation.
type output struct {
	kind outputKind
	// first is the count or the sum; second is the count beside a centred sum.
	first, second int
	resultOID     uint32
	label         string // as the analyst would write it, for EXPLAIN and notices
}

type outputKind uint8

const (
	outputCount outputKind = iota + 1
	outputSum
	outputAvg
)

func (r *resolver) aggregate(a *parser.Aggregate) error {
	if a.Distinct {
		return pgerr.New(pgerr.NotAllowed, "DISTINCT in an aggregate over protected data is not supported").At(a.At).
			WithHint("Count rows, or group by the column if the policy declares its values.")
	}
	if a.Filter != nil {
		return pgerr.New(pgerr.NotAllowed, "FILTER on an aggregate over protected data is not supported").At(a.At).
			WithHint("Move the condition to WHERE.")
	}
	switch {
	case a.Func == "count" && (a.Star || len(a.Args) == 1 && isOne(a.Args[0])):
		m := r.measure(measure{kind: countRows})
		r.output(output{outputCount, m, -1, oidInt8, "count(*)"})
		return nil
	case len(a.Args) != 1 || a.Func != "count" && a.Func != "sum" && a.Func != "avg":
		return pgerr.New(pgerr.NotAllowed, "the aggregate %s is not supported on protected data", a.Func).At(a.At).
			WithHint("Use count, sum or avg.")
	}
	ref, ok := a.Args[0].(*parser.Column)
	if !ok {
		return pgerr.New(pgerr.NotAllowed, "%s over an expression is not supported on protected data", a.Func).At(a.Args[0].Pos()).
			WithHint("Use %s over a column.", a.Func)
	}
	col, err := r.column(ref)
	if err != nil {
		return err
	}
	if a.Func == "count" {
		r.output(output{outputCount, r.countOf(col), -1, oidInt8, "count(" + col.Name + ")"})
		return nil
	}
	return r.sum(a, col, ref.At)
}

// isOne reports whether count(x) counts rows: x is a constant that is not NULL.
func isOne(e parser.Expr) bool {
	c, ok := e.(*parser.Const)
	return ok && c.Kind != parser.Null
}

func (r *resolver) sum(a *parser.Aggregate, col *column, at int) error {
	fam := columnFamily(col.Type)
	if fam != intFamily && fam != numericFamily && fam != floatFamily {
		return pgerr.New(pgerr.NotAllowed, "%s of a column of type %s is not supported on protected data", a.Func, col.Type.Display).At(at).
			WithHint("Use %s over a numeric column.", a.Func)
	}
	if col.bounds == nil {
		return pgerr.New(pgerr.NoBounds, "column %q has no bounds", col.Name).At(at).
			WithHint("The administrator can declare bounds for %s.%s in the policy.", r.block.table.name, col.Name)
	}
	lat, err := latticeOf(col, r.block.rows())
	if err != nil {
		return pgerr.New(pgerr.Imprecise, "the bounds of column %q are too wide to sum", col.Name).At(at).
			WithHint("The administrator can declare narrower bounds or a lower max_rows.")
	}
	label := a.Func + "(" + col.Name + ")"
	if a.Func == "sum" {
		m := r.measure(measure{sumValues, col, lat})
		r.output(output{outputSum, m, -1, sumType(baseOID(col.Type)), label})
		return nil
	}
	m := r.measure(measure{sumCentred, col, lat})
	r.output(output{outputAvg, m, r.countOf(col), avgType(baseOID(col.Type)), label})
	return nil
}

// countOf returns the measure that counts the values of a column: the rows, if
// the column is never NULL.
func (r *resolver) countOf(col *column) int {
	if col.NotNull {
		return r.measure(measure{kind: countRows})
	}
	return r.measure(measure{kind: countValues, col: col})
}

func (r *resolver) measure(m measure) int {
	for i, have := range r.block.measures {
		if have.kind == m.kind && have.col == m.col {
			return i
		}
	}
	r.block.measures = append(r.block.measures, m)
	return len(r.block.measures) - 1
}

func (r *resolver) output(o output) { r.block.outputs = append(r.block.outputs, o) }

// sumType is the result type of Postgres's sum over a type.
func sumType(oid uint32) uint32 {
	switch oid {
	case oidInt2, oidInt4:
		return oidInt8
	case oidFloat4, oidFloat8:
		return oid
	}
	return oidNumeric
}

// avgType is the result type of Postgres's avg over a type.
func avgType(oid uint32) uint32 {
	if oid == oidFloat4 || oid == oidFloat8 {
		return oidFloat8
	}
	return oidNumeric
}
