package scalar_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// derived checks an expression over x, a column of a derived table that stands for
// an expression of each branch, against the same over plain Postgres.
func (db *database) derived(ctx context.Context, text string, branches ...string) error {
	return db.derivedAs(ctx, resolver(), text, text, branches...)
}

// derivedAs is derived with columns that have bounds, against another text over plain Postgres.
func (db *database) derivedAs(ctx context.Context, r *scalar.Resolver, text, native string, branches ...string) error {
	x := &scalar.Column{Name: "x", SQL: `t0."x"`}
	for _, b := range branches {
		e, _, err := parse(b)
		if err != nil {
			return err
		}
		of, err := r.Expr(e)
		if err != nil {
			return err
		}
		x.Of = append(x.Of, of)
	}
	x.Type = x.Of[0].Type()
	outer := *r
	outer.Column = func(*ast.Column) (*scalar.Column, error) { return x, nil }
	e, _, err := parse(text)
	if err != nil {
		return err
	}
	res, err := db.resolve(ctx, &outer, e)
	if err != nil {
		return err
	}
	return db.compareDerived(ctx, res, x, native, branches)
}

func (db *database) compareDerived(ctx context.Context, res *resolved, x *scalar.Column, text string, branches []string) error {
	w, t := res.writer(), res.x.Type()
	ours, theirs, offset := "", "", 0
	for i, b := range branches {
		sql, err := w.Target(x, i)
		if err != nil {
			return err
		}
		union := ""
		if i > 0 {
			union = " UNION ALL "
		}
		ours += fmt.Sprintf("%sSELECT t0.k + %d AS k, t0.inside, %s AS x FROM public.t AS t0", union, offset, sql)
		theirs += fmt.Sprintf("%sSELECT k + %d AS k, inside, %s AS s FROM t", union, offset, b)
		offset += 1000
	}
	sql, err := value(w, res.x)
	if err != nil {
		return err
	}
	bounds, within := res.env.Bounds(res.x), "NULL"
	if bounds.Bounded() {
		if within, err = db.within(w, res.x, bounds); err != nil {
			return err
		}
	}
	rows, err := db.query(ctx, res.env, "SELECT k, inside, "+shown(t, sql)+", "+within+" FROM ("+ours+") AS t0 ORDER BY k")
	if err != nil {
		return fmt.Errorf("raised: %w\n\t%s\n\t%s", err, ours, within)
	}
	for _, r := range rows {
		if err := inBounds(r[3], bounds, t.Family() == pgtype.FloatFamily); err != nil {
			return fmt.Errorf("row %s: %w\n\t%s\n\t%s", *r[0], err, ours, within)
		}
	}
	return db.equal(ctx, text, t, rows, "("+theirs+") AS t")
}

// TestDerived computes with columns of derived tables, also of two branches. In
// the text of the outer expression, s stands for the column.
func TestDerived(t *testing.T) {
	db := open(t)
	for _, c := range []struct {
		text     string
		branches []string
	}{
		{"s", []string{"i4"}},
		{"s + 1", []string{"i4"}},
		{"s + 1", []string{"i4 + 1"}},
		{"s * s * s", []string{"i8 * i8"}},
		{"s / 7", []string{"i8 * i8", "i4"}},
		{"s + 1", []string{"i4", "i4 / i2"}},
		{"s * 2", []string{"CASE WHEN b THEN num ELSE 0 END"}},
		{"s * s", []string{"COALESCE(nf, 0)"}},
		{"s * s", []string{"f8", "GREATEST(f8, 0)"}},
		{"s + s", []string{"f4 * 2::float4"}},
		{"1 / s", []string{"LEAST(GREATEST(fu, 0.5), 7)"}},
		{"s", []string{"GREATEST(fu, 0)"}},
		{"s > 3", []string{"COALESCE(iu, 0)"}},
		{"upper(s)", []string{"v || 'x'"}},
		{"s || s", []string{"left(s, 3)", "v"}},
		{"lower(s)", []string{"s"}},
		{"s || '!'", []string{"COALESCE(s, '?')"}},
		{"date_trunc('month', s)", []string{"d"}},
		{"s + interval '1 day'", []string{"date_trunc('month', d)"}},
		{"s - s", []string{"ts + interval '1 month'"}},
		{"extract(year from s)", []string{"tz", "ts::timestamptz"}},
		{"extract(day from s)", []string{"ts - d"}},
		{"NOT s", []string{"i4 > 3"}},
		{"CASE WHEN s THEN 1 ELSE 0 END", []string{"b", "i4 IS NULL"}},
		{"s = 'ok'", []string{"e"}},
		{"s = 'ok'", []string{"COALESCE(e, 'sad')"}},
	} {
		if err := db.derived(t.Context(), c.text, c.branches...); err != nil {
			t.Errorf("%s of %q\n\t%v", c.text, c.branches, err)
		}
	}
}

// TestDerivedRandom does the same with random expressions below.
func TestDerivedRandom(t *testing.T) {
	db := open(t)
	outer := map[string]string{
		"int": "s * 2 - 1", "numeric": "s / 3", "float": "s * s", "text": "s || 'x'", "date": "s + 1", "timestamp": "extract(year from s)",
		"timestamptz": "date_trunc('day', s)", "interval": "s > '1 day'", "bool": "NOT s",
	}
	rapid.Check(t, func(r *rapid.T) {
		kind := rapid.SampledFrom(kinds[:len(kinds)-1]).Draw(r, "kind")
		text := randomExpr(r, kind, rapid.IntRange(0, 3).Draw(r, "depth"))
		err := db.derived(context.Background(), outer[kind], text)
		var refusal *pgerr.Error
		if errors.As(err, &refusal) && refusal.Code != pgerr.Internal || errors.Is(err, errMirror) {
			return
		}
		if err != nil {
			r.Fatalf("%s of %s\n%v", outer[kind], text, err)
		}
	})
}
