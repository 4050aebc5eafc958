package proxy

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"dpproxy/parser"
	"dpproxy/parser/lex"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
	"dpproxy/wire"
)

// A binding is the execution of a [parser.Binding].
type binding struct {
	*execution

	of     parser.Binding
	at     int  // in the environment
	public bool // it reads nothing protected but the results of others
	bound  wire.BindRequest
	types  []string // of its columns
}

// binding prepares the execution of a binding with the results of those before it.
func (s *evaluation) binding(ctx context.Context, m *wire.Asker, i int) (*binding, error) {
	of := s.let.Bindings[i]
	inner, err := s.other(of.Query(s.env))
	if err != nil {
		return nil, err
	}
	b := &binding{execution: inner, of: of, at: i, bound: s.bound}
	b.part.unseen = of.As == parser.AsRanks
	switch inner.text.stmt.Class {
	case parser.Release:
	case parser.Relay:
		b.public, s.part.copied = true, true
		if err := b.checkBeside(ctx, m); err != nil {
			return nil, err
		}
	case parser.Refused:
		return nil, s.within(ctx, of, inner.text.stmt.Refusal)
	case parser.Explain, parser.Empty, parser.Set, parser.Execution:
		return nil, unusable()
	}
	d, err := m.Describe(ctx, inner.text.stmt.Text, s.bound.ParamOIDs)
	if err != nil {
		return nil, err
	}
	b.bound.Fields, b.bound.Simple = d.Fields, true
	for _, f := range d.Fields {
		name, err := constantType(ctx, m, f.DataTypeOID, of.As == parser.AsValue)
		if err != nil {
			return nil, err
		}
		if name == "" {
			return nil, pgerr.New(pgerr.FeatureNotSupported,
				"column %q of a query that is used as constants has a type that none here can have", f.Name).
				WithHint("Cast it to a number, a date or a text, or leave it out.")
		}
		b.types = append(b.types, name)
	}
	return b, nil
}

// constantType returns the name of a type that constants can have, "" of any other. One value can be an array, or of an enum, which is
// called as the session knows it.
func constantType(ctx context.Context, m *wire.Asker, oid uint32, value bool) (string, error) {
	t, ok := pgtype.OfParameter(oid)
	switch {
	case !ok || (t.Array || t.Named()) && !value:
		return "", nil
	case !t.Named():
		return t.SQL(), nil
	}
	res, err := m.First(ctx, 1, "SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(t.typname) "+
		"FROM pg_catalog.pg_type AS t "+
		"JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace "+
		"WHERE t.typtype OPERATOR(pg_catalog.=) 'e' AND t.oid OPERATOR(pg_catalog.=) "+strconv.FormatUint(uint64(oid), 10), nil, nil, nil)
	if err != nil || len(res.Rows) == 0 {
		return "", err
	}
	return string(res.Rows[0][0]), nil
}

// answer releases it.
func (b *binding) answer(ctx context.Context, m *wire.Asker) (wire.Rewrite, error) {
	rw, err := b.release(ctx, m, b.bound)
	if err == nil && rw.Relay {
		err = pgerr.New(pgerr.FeatureNotSupported, "what a released result is of has changed meanwhile").
			WithHint("Send the statement again.")
	}
	return rw, withoutPosition(err)
}

// maxRows bounds the rows of a released result that become constants, and maxPublicRows those of public ones.
const (
	maxRows       = 1000
	maxPublicRows = scalar.MaxListed
)

// unreleased stands for the answer before there is one: of public groups, those that are shown if no value is known.
func (b *binding) unreleased(ctx context.Context, m *wire.Asker, o *outlook) (parser.Constants, error) {
	if b.of.As == parser.AsValue || b.of.As == parser.AsRanks && len(b.of.Keys) == 0 {
		return b.written(nil, true), nil
	}
	columns := make([][]string, len(o.plan.Blocks))
	for i, of := range o.plan.Blocks {
		columns[i] = of.Unreleased()
	}
	rw, err := b.rewrite(ctx, o.query, o.pre, columns, b.bound)
	if err != nil {
		return parser.Constants{}, err
	}
	return b.constants(ctx, m, rw.Inline, true)
}

// constants reads rows, and writes them.
func (b *binding) constants(ctx context.Context, m *wire.Asker, sql string, unknown bool) (c parser.Constants, err error) {
	res, err := b.once(sql, func() (*wire.Result, error) {
		return m.First(ctx, b.mostRows()+1, sql, b.bound.ParamOIDs, b.bound.Params, b.bound.Formats)
	})
	switch {
	case err != nil:
		return c, err
	case b.of.As == parser.AsValue && len(res.Rows) > 1:
		return c, pgerr.New(pgerr.CardinalityViolation, "more than one row returned by a subquery used as an expression").
			WithHint("Restrict it with LIMIT 1. Its result is released and remembered.")
	}
	if err = b.fits(res.Rows); err != nil {
		return c, err
	}
	return b.written(res.Rows, unknown), nil
}

// written writes rows as constants: if they are not known, and there are none, one of NULLs.
func (b *binding) written(rows [][][]byte, unknown bool) parser.Constants {
	if unknown && len(rows) == 0 {
		rows = [][][]byte{make([][]byte, len(b.types))}
	}
	r := b.released(rows)
	r.Unknown = unknown
	return b.of.Constants(r)
}

// fits refuses rows that cannot become constants.
func (b *binding) fits(rows [][][]byte) error {
	if many := len(rows) > int(b.mostRows()); many || b.released(rows).Length() > maxBytes {
		return b.tooMany(many)
	}
	if err := b.of.Fits(len(rows)); err != nil {
		return err
	}
	if len(b.of.Keys) > 0 {
		return b.perGroup(rows)
	}
	if b.of.As == parser.AsRanks && len(rows) != 1 {
		return fmt.Errorf("proxy: %d rows tell a rank", len(rows))
	}
	return nil
}

// mostRows bounds the rows that become constants.
func (b *binding) mostRows() uint32 {
	if b.public {
		return maxPublicRows
	}
	return maxRows
}

// maxBytes bounds the constants of one result in a text.
const maxBytes = lex.MaxText * 3 / 4

// tooMany refuses more rows than can become constants, or longer ones.
func (b *binding) tooMany(rows bool) error {
	of, hint := "a released result", "Restrict it with LIMIT, or group by something coarser."
	if b.public {
		of, hint = "a query of public rows", "Restrict it with WHERE, select the columns that are needed alone, "+
			"or join with its tables themselves, by their keys."
	}
	most := fmt.Sprintf("has more than %d rows", b.mostRows())
	if !rows {
		most = fmt.Sprintf("is longer than %d bytes", maxBytes)
	}
	return pgerr.New(pgerr.ProgramLimitExceeded, "%s that is used as constants %s", of, most).WithHint("%s", hint)
}

// released is a result of these rows.
func (b *binding) released(rows [][][]byte) parser.Result {
	r := parser.Result{Rows: rows}
	for i, t := range b.types {
		r.Names, r.Types = append(r.Names, string(b.bound.Fields[i].Name)), append(r.Types, t)
	}
	return r
}

// maxCells bounds the constants that tell ranks in groups, and maxConstants those of a choice between the values of groups: each
// row looks at all of them, and the mirror evaluates them in one row.
const (
	maxCells     = 600
	maxConstants = 1400
)

// perGroup refuses groups that no choice can be written of.
func (b *binding) perGroup(rows [][][]byte) error {
	keys := len(b.of.Keys)
	if most := maxCells / len(b.types); len(rows) > most && b.of.As == parser.AsRanks {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a rank in each group has %d groups here, and %d at most", len(rows), most).
			WithHint("Use fewer tiles, or a coarser PARTITION BY.")
	}
	if n := b.released(rows).Different(keys); n > maxConstants && b.of.As == parser.AsGroups {
		columns, on := "key", "t.key = ..."
		if keys > 1 {
			columns, on = "a, b", "t.a = ... AND t.b = ..."
		}
		return pgerr.New(pgerr.ProgramLimitExceeded, "a sub-select for each of %d groups has %d constants here, and %d at most",
			len(rows), n, maxConstants).
			WithHint("Join with them in FROM, which takes %d: JOIN (SELECT %s, avg(x) AS mean FROM ... GROUP BY %s) t ON %s.",
				maxRows, columns, columns, on)
	}
	for i, row := range rows {
		same := func(other [][]byte) bool {
			return slices.EqualFunc(row[:keys], other[:keys], func(a, b []byte) bool { return a != nil && b != nil && bytes.Equal(a, b) })
		}
		if slices.ContainsFunc(rows[:i], same) {
			return pgerr.New(pgerr.CardinalityViolation, "more than one row returned by a subquery used as an expression").
				WithHint("Aggregate it, so that each group has one row. Its result is released and remembered.")
		}
	}
	return nil
}
