package proxy

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/wire"
)

// A prior is the execution of a query that is answered before.
type prior struct {
	*execution

	of     parser.Prior
	public bool // it reads nothing protected but the results of others
	bound  wire.BindRequest
	types  []pgtype.Type // of its columns
	any    bool          // its rows are unknown: they are a sample that tells no group
}

// prior prepares one with the results that there are.
func (s *staging) prior(ctx context.Context, m *wire.Asker, i int) (*prior, error) {
	of := s.text.stmt.Priors[i]
	sql := of.SQL(s.results)
	inner, err := s.other(sql)
	if err != nil {
		return nil, err
	}
	p := &prior{execution: inner, of: of, bound: s.bound}
	p.part.unseen = of.Form == parser.PriorRanks
	switch inner.text.stmt.Class {
	case parser.Release:
	case parser.Relay:
		p.public = true
	case parser.Refused:
		return nil, s.within(of, inner.text.stmt.Refusal)
	case parser.Explain, parser.Empty, parser.Set, parser.Execution:
		return nil, unusable()
	}
	d, err := m.Describe(ctx, sql, s.bound.ParamOIDs)
	if err != nil {
		return nil, err
	}
	p.bound.Fields, p.bound.Simple = d.Fields, true
	for _, f := range d.Fields {
		t, ok := pgtype.OfParameter(f.DataTypeOID)
		if !ok || t.Array || t.Named() || t.SQL() == "" {
			return nil, pgerr.New(pgerr.FeatureNotSupported,
				"column %q of a released result has a type that no constant here can have", f.Name).
				WithHint("Cast it to a number, a date or a text.")
		}
		p.types = append(p.types, t)
	}
	return p, nil
}

// answer releases it.
func (p *prior) answer(ctx context.Context, m *wire.Asker) (wire.Rewrite, error) {
	rw, err := p.release(ctx, m, p.bound)
	if err == nil && rw.Relay {
		err = pgerr.New(pgerr.FeatureNotSupported, "what a released result is of has changed meanwhile").
			WithHint("Send the statement again.")
	}
	return rw, withoutPosition(err)
}

// maxPriorRows bounds the rows that become constants.
const maxPriorRows = 1000

// result reads the answer, and writes it as constants.
func (p *prior) result(ctx context.Context, m *wire.Asker, sql string) (string, error) {
	res, err := m.First(ctx, maxPriorRows+1, sql, p.bound.ParamOIDs, p.bound.Params, p.bound.Formats)
	switch {
	case err != nil:
		return "", err
	case p.of.Form == parser.PriorValue && len(res.Rows) > 1:
		return "", pgerr.New(pgerr.CardinalityViolation, "more than one row returned by a subquery used as an expression").
			WithHint("Restrict it with LIMIT 1. Its result is released and remembered.")
	}
	if err := p.fits(res.Rows); err != nil {
		return "", err
	}
	return p.constants(res.Rows), nil
}

// fits refuses rows that cannot become constants.
func (p *prior) fits(rows [][][]byte) error {
	if len(rows) > maxPriorRows {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a released result that is used as constants has more than %d rows", maxPriorRows).
			WithHint("Restrict it with LIMIT, or group by something coarser.")
	}
	if err := p.of.Fits(len(rows)); err != nil {
		return err
	}
	if len(p.of.Keys) > 0 {
		return p.perGroup(rows)
	}
	if p.of.Form == parser.PriorRanks && len(rows) != 1 {
		return fmt.Errorf("proxy: %d rows tell a rank", len(rows))
	}
	return nil
}

// sample stands for the answer before there is one: of public groups, those that are shown if no value is known. written is how an
// answer of these rows would be written.
func (p *prior) sample(ctx context.Context, m *wire.Asker, o *outlook) (sample, written string, err error) {
	var rows [][][]byte
	if p.of.Form != parser.PriorValue && (p.of.Form != parser.PriorRanks || len(p.of.Keys) > 0) {
		columns := make([][]string, len(o.plan.Blocks))
		for i, b := range o.plan.Blocks {
			columns[i] = b.Sample()
		}
		rw, err := p.rewrite(ctx, o.query, o.pre, columns, p.bound)
		if err != nil {
			return "", "", err
		}
		res, err := m.First(ctx, maxPriorRows+1, rw.Inline, p.bound.ParamOIDs, p.bound.Params, p.bound.Formats)
		if err != nil {
			return "", "", err
		}
		rows = res.Rows
		if err := p.fits(rows); err != nil {
			return "", "", err
		}
	}
	if p.any = len(rows) == 0; p.any {
		rows = [][][]byte{make([][]byte, len(p.types))}
	}
	for _, row := range rows {
		for i, cell := range row {
			if cell == nil {
				row[i] = sampleOf(p.types[i])
			}
		}
	}
	sample = p.constants(rows)
	p.any = false
	return sample, p.constants(rows), nil
}

// sampleOf is a value of a type; nil for those whose values are compared at most.
func sampleOf(t pgtype.Type) []byte {
	switch {
	case t.Number():
		return []byte("1")
	case t.OID == pgtype.Bool:
		return []byte("true")
	case t.Family() == pgtype.TextFamily:
		return []byte("x")
	case t.Dated():
		return []byte("2000-01-01")
	}
	return nil
}

// constants writes what takes its place.
func (p *prior) constants(rows [][][]byte) string {
	r := p.released(rows)
	r.Sample = p.any
	return p.of.Result(r)
}

// released is a result of these rows.
func (p *prior) released(rows [][][]byte) parser.PriorResult {
	r := parser.PriorResult{Rows: rows}
	for i, t := range p.types {
		r.Names, r.Types = append(r.Names, string(p.bound.Fields[i].Name)), append(r.Types, t.SQL())
	}
	return r
}

// maxPriorCells bounds the constants that tell ranks in groups, and maxPriorConstants those of a choice between the values of groups: each
// row looks at all of them, and the mirror evaluates them in one row.
const (
	maxPriorCells     = 600
	maxPriorConstants = 1400
)

// perGroup refuses groups that no choice can be written of.
func (p *prior) perGroup(rows [][][]byte) error {
	keys := len(p.of.Keys)
	if most := maxPriorCells / len(p.types); len(rows) > most && p.of.Form == parser.PriorRanks {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a rank in each group has %d groups here, and %d at most", len(rows), most).
			WithHint("Use fewer tiles, or a coarser PARTITION BY.")
	}
	if n := p.released(rows).Constants(keys); n > maxPriorConstants && p.of.Form == parser.PriorGroups {
		columns, on := "key", "t.key = ..."
		if keys > 1 {
			columns, on = "a, b", "t.a = ... AND t.b = ..."
		}
		return pgerr.New(pgerr.ProgramLimitExceeded, "a sub-select for each of %d groups has %d constants here, and %d at most",
			len(rows), n, maxPriorConstants).
			WithHint("Join with them in FROM, which takes %d: JOIN (SELECT %s, avg(x) AS mean FROM ... GROUP BY %s) t ON %s.",
				maxPriorRows, columns, columns, on)
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
