package source

import (
	"fmt"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// Draw resolves FROM and WHERE of a block and draws what is proved of the rows.
func Draw(cat *policy.Model, b *ast.Block, limits policy.Limits, values func([]scalar.Fold) []scalar.Value) (string, error) {
	constants := &scalar.Constants{}
	rows, err := Resolve(&Statement{Model: cat, Constants: constants}, b)
	if err != nil {
		return "", err
	}
	proved := stateOf(rows.bounded)
	var keys []scalar.Expr
	for _, g := range rows.Block.Groups {
		x, err := rows.Resolver().Expr(g)
		if err != nil {
			return "", err
		}
		keys = append(keys, x)
	}
	for _, a := range rows.Block.Aggregates {
		for _, arg := range a.Args {
			if _, err := rows.Resolver().Expr(arg); err != nil {
				return "", err
			}
		}
	}
	if changed := change(proved, stateOf(rows.bounded)); changed != "" {
		return "", fmt.Errorf("resolving expressions has changed the proof: %s", changed)
	}
	s := rows.Source()
	if _, err := s.Fanout(limits); err != nil {
		return "", err
	}
	folds := constants.Folds()
	w := &scalar.Writer{
		Env:   &scalar.Env{Values: values(folds), TimeZones: map[string]bool{"UTC": true}, UTF8: true},
		Fold:  func(i int) string { return fmt.Sprintf("$%d", i+1) },
		Query: s.WriteQuery,
	}
	if changed, err := Touched(s, keys, w); err != nil || changed != "" {
		return "", fmt.Errorf("reading the source has changed it: %s, %w", changed, err)
	}
	return drawSource(s, keys, w, limits)
}

func drawSource(s *Source, keys []scalar.Expr, w *scalar.Writer, limits policy.Limits) (string, error) {
	var out strings.Builder
	if s.Protected() {
		fmt.Fprintf(&out, "unit: %s %s\n", s.Unit().SQL, s.Unit().Type)
	}
	fmt.Fprintf(&out, "reads: %s\nrows of a unit: %s", strings.Join(s.Told(), ", "), drawRows(s, keys))
	if n, known := s.RowsPerUnit(limits); known && !s.Unique() {
		fmt.Fprintf(&out, ", at most %d", n)
	}
	factor, err := s.Fanout(limits)
	if err != nil {
		return "", err
	}
	if factor > 1 {
		fmt.Fprintf(&out, ", times %d", factor)
	}
	out.WriteString("\n")
	if s.DeclaresKeys() {
		out.WriteString("an outer join declares keys\n")
	}
	for i, k := range keys {
		if err := drawKey(&out, s, w, i, k); err != nil {
			return "", err
		}
	}
	if len(s.Used()) > 0 {
		var names []string
		for _, c := range s.Used() {
			names = append(names, c.SQL)
		}
		fmt.Fprintf(&out, "uses: %s\n", strings.Join(names, ", "))
	}
	from, where, err := written(s.Write(w, drawnKeys{}))
	text := sqltext.Lines("SELECT * FROM " + from + " WHERE " + where)
	fmt.Fprintf(&out, "%s\n", strings.TrimLeft(strings.TrimPrefix(text, "SELECT *"), " \n"))
	return out.String(), err
}

// written prints FROM and WHERE of a level as they run.
func written(q *sqltext.Select, err error) (from, where string, _ error) {
	if err != nil {
		return "", "", err
	}
	const mark = "\x00" // in the SELECT list and behind FROM
	q.Columns = []sqltext.Column{{SQL: mark}}
	even, _ := sqltext.Even(q)
	even.From = &sqltext.Join{Left: even.From, Right: &sqltext.Table{SQL: mark}}
	parts := strings.Split(even.SQL(), mark)
	return strings.TrimSuffix(strings.TrimPrefix(parts[1], " FROM "), " CROSS JOIN "), strings.TrimPrefix(parts[2], " WHERE "), nil
}

func drawRows(s *Source, keys []scalar.Expr) string {
	switch {
	case s.Unique():
		return "one"
	case len(keys) > 0 && s.Fixes(keys):
		return "one in each group"
	}
	return fmt.Sprintf("max_rows=%d max_partitions=%d", s.MaxRows(), s.MaxPartitions())
}

func drawKey(out *strings.Builder, s *Source, w *scalar.Writer, i int, k scalar.Expr) error {
	null := ""
	if !scalar.NeverNull(s.Conjuncts(), k) {
		null = " or NULL"
	}
	fmt.Fprintf(out, "key %d: %s%s", i+1, k.Type(), null)
	if s.PerUnit(k) {
		out.WriteString(", one for each unit")
	}
	part, ok, err := s.PublicPart(w, s.Inlined(), k.Columns())
	if ok {
		fmt.Fprintf(out, ", public: FROM %s WHERE %s", part.From, part.Where)
	}
	out.WriteString("\n")
	return err
}

type drawnKeys struct{}

func (drawnKeys) JoinOrder(message string) string { return `hmac('\x03', ` + message + ")" }

// A ReadSource is what a test needs to compare the rows of a source with what is proved of them.
type ReadSource struct {
	// From and Where are the SQL; Unit and Columns what to select, one column for each
	// argument of the statement's aggregates.
	From, Where, Unit string
	Columns           []string
	// Proofs: of the rows, of the rows with one value of a column, of a column.
	Unique                    bool
	Fixes, PerUnit, NeverNull []bool
	// OneUnit says that rows with one value of the column are of one unit.
	OneUnit     []bool
	OneSpelling []bool
	// Domains select the values of public columns; "" for others.
	Domains  []string
	Declares bool
	// Factor bounds the rows of a unit, as a multiple of those in all relations.
	Factor, Relations int64
	// Rows bounds the rows of a unit by what is public, RowsWith those with one value of a column; 0 if
	// that is not known. Multiplicity bounds how many rows public relations make of one.
	Rows, Multiplicity int64
	RowsWith           []int64
	// United are the joins to which the equality of units was added.
	United []United
}

// ReadBlock resolves FROM and WHERE of a block and writes its SQL.
func ReadBlock(cat *policy.Model, b *ast.Block, values func([]scalar.Fold) []scalar.Value) (*ReadSource, error) {
	constants := &scalar.Constants{}
	rows, err := Resolve(&Statement{Model: cat, Constants: constants}, b)
	if err != nil {
		return nil, err
	}
	exprs := make([]scalar.Expr, 0, len(b.Aggregates))
	for _, a := range rows.Block.Aggregates {
		for _, arg := range a.Args {
			x, err := rows.Resolver().Expr(arg)
			if err != nil {
				return nil, err
			}
			exprs = append(exprs, x)
		}
	}
	limits := policy.Limits{PublicFanout: 1000, Work: 1_000_000, PublicRows: cat.PublicRows()}
	s := rows.Source()
	out := &ReadSource{Unique: s.Unique(), Declares: s.DeclaresKeys(), Unit: s.Unit().SQL, Relations: int64(rows.scope.shared.aliases)}
	if out.Factor, err = s.Fanout(limits); err != nil {
		return nil, err
	}
	if n, known := s.RowsPerUnit(limits); known {
		out.Rows = n
	}
	out.Multiplicity, _ = s.Multiplicity(nil, limits)
	out.United = s.United()
	w := &scalar.Writer{
		Env:   &scalar.Env{Values: values(constants.Folds()), TimeZones: cat.TimeZones(), UTF8: true, Before14: cat.Before14()},
		Fold:  func(i int) string { return fmt.Sprintf("$%d", i+1) },
		Query: s.WriteQuery,
	}
	for _, x := range exprs {
		if err := out.column(s, w, x); err != nil {
			return nil, err
		}
		n, known := s.RowsPerGroup([]scalar.Expr{x}, limits)
		if !known {
			n = 0
		}
		out.RowsWith = append(out.RowsWith, n)
	}
	out.From, out.Where, err = written(s.Write(w, testKeys{}))
	return out, err
}

func (r *ReadSource) column(s *Source, w *scalar.Writer, x scalar.Expr) error {
	sql, err := w.Expr(x)
	if err != nil {
		return err
	}
	domain := ""
	part, ok, err := s.PublicPart(w, s.Inlined(), x.Columns())
	if ok && len(x.Columns()) > 0 {
		on := *w
		on.Renamed = part.Renamed
		public, err := on.Expr(x)
		if err != nil {
			return err
		}
		rows := "SELECT DISTINCT " + public + " AS x FROM " + part.From + " WHERE " + part.Where
		if domain = rows; len(s.constants.Folds()) > 0 {
			_, constants := scalar.Evaluation(s.constants.Folds())
			domain = "SELECT d.x" + constants + ", LATERAL (" + rows + ") AS d"
		}
	}
	r.Columns, r.Domains = append(r.Columns, sql), append(r.Domains, domain)
	r.Fixes = append(r.Fixes, s.Fixes([]scalar.Expr{x}))
	r.PerUnit = append(r.PerUnit, s.PerUnit(x))
	r.OneUnit = append(r.OneUnit, s.OneUnit([]scalar.Expr{x}))
	r.OneSpelling = append(r.OneSpelling, scalar.OneSpelling(x))
	r.NeverNull = append(r.NeverNull, scalar.NeverNull(s.Conjuncts(), x))
	return err
}

// testKeys is a keyed order whose secret is known.
type testKeys struct{}

func (testKeys) JoinOrder(message string) string {
	return "pg_catalog.sha256('secret'::pg_catalog.bytea || " + message + ")"
}
