package scalar_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// TestTotal runs every accepted expression of testdata/accepted.txt over rows that are
// made to break it. The planner's SQL must not raise, must stay within its bounds, and
// must have plain Postgres's value wherever that has one and the row is within bounds.
func TestTotal(t *testing.T) {
	db := open(t)
	text, err := os.ReadFile("testdata/accepted.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		err := db.check(t.Context(), line)
		if refused, ok := errors.AsType[*pgerr.Error](err); ok && refused.Code == pgerr.NotAllowed && db.lacks(t, line) {
			continue
		}
		if err != nil {
			t.Errorf("%s\n\t%v", line, err)
		}
		seen++
	}
	if seen < 300 {
		t.Errorf("only %d expressions", seen)
	}
	if db.stepsSeen < 8 || db.productsSeen < 5 {
		t.Errorf("only %d expressions were computed in whole steps, %d of them products", db.stepsSeen, db.productsSeen)
	}
}

// TestTotalRandom does the same for random expressions: 20 for each of rapid's checks
// (100 without -rapid.checks). Refused expressions do not count.
func TestTotalRandom(t *testing.T) {
	db := open(t)
	accepted := 0
	rapid.Check(t, func(r *rapid.T) {
		for range 20 {
			text := randomExpr(r, rapid.SampledFrom(kinds).Draw(r, "kind"), rapid.IntRange(1, 4).Draw(r, "depth"))
			err := db.check(context.Background(), text)
			var refusal *pgerr.Error
			switch {
			case errors.As(err, &refusal) && refusal.Code == pgerr.Internal:
				r.Fatalf("%s\n%v", text, err)
			case errors.As(err, &refusal), errors.Is(err, errMirror):
			case err != nil:
				r.Fatalf("%s\n%v", text, err)
			default:
				accepted++
			}
		}
	})
	if accepted < 500 {
		t.Errorf("only %d expressions were accepted", accepted)
	}
	t.Logf("%d expressions accepted", accepted)
}

// vast reports whether a constant is an interval of so many hours, or an infinite one, that
// it has no text before Postgres 15.
func vast(v scalar.Value) bool {
	if v.OID != 1186 || !v.Binary || len(v.Bytes) < 8 {
		return false
	}
	hours := int64(binary.BigEndian.Uint64(v.Bytes)) / 3_600_000_000
	return hours > math.MaxInt32 || hours < -math.MaxInt32
}

// check compares the planner's SQL of an expression with plain Postgres.
func (db *database) check(ctx context.Context, text string) error {
	res, err := db.resolved(ctx, text)
	if err != nil {
		return err
	}
	if err := db.total(ctx, res, text); err != nil {
		return err
	}
	if err := db.spelled(ctx, res, text); err != nil {
		return err
	}
	if err := db.stepped(ctx, res); err != nil {
		return err
	}
	return db.listed(ctx, res)
}

// total compares the planner's SQL of an expression with a text in plain Postgres. It has a value on every row, within its bounds where
// it is to be.
func (db *database) total(ctx context.Context, res *resolved, text string) error {
	ours, sql, err := db.rowsWithin(ctx, res)
	if err != nil {
		return err
	}
	if err := db.equal(ctx, text, res.x.Type(), ours, "t"); err != nil {
		return fmt.Errorf("%w\n\t%s", err, sql)
	}
	return nil
}

// rowsWithin computes an expression by the planner's SQL for every row, and that it is within its bounds where it is to be.
func (db *database) rowsWithin(ctx context.Context, res *resolved) (rows [][]*string, sql string, err error) {
	if db.version < 15 && slices.ContainsFunc(res.env.Values, vast) {
		return nil, "", errMirror
	}
	w := res.writer()
	if sql, err = value(w, res.x); err != nil {
		return nil, "", err
	}
	t := res.x.Type()
	within, bounds := "NULL", res.env.Bounds(res.x)
	if bounds.Bounded() {
		if within, err = db.within(w, res.x, bounds); err != nil {
			return nil, "", err
		}
	}
	rows, err = db.query(ctx, res.env, "SELECT k, inside, "+shown(t, sql)+", "+within+" FROM public.t AS t0 ORDER BY k")
	if err != nil {
		return nil, "", fmt.Errorf("raised: %w\n\tSELECT %s, %s", err, sql, within)
	}
	for _, r := range rows {
		if err := inBounds(r[3], bounds, t.Family() == pgtype.FloatFamily); err != nil {
			return nil, "", fmt.Errorf("row %s: %w\n\t%s", *r[0], err, within)
		}
	}
	return rows, sql, nil
}

// stepped reports steps that are not those of the expression's own value, on any row, also as a product.
func (db *database) stepped(ctx context.Context, res *resolved) error {
	w := res.writer()
	digits, _ := res.env.Scale(res.x)
	column := func(r *scalar.Ref) string {
		own, _ := scalar.OwnSteps(res.env, r)
		x, _, err := w.Clamped(r, res.env.Bounds(r))
		if err != nil {
			return "an error"
		}
		return fmt.Sprintf("CAST(%s * 1e%d AS int8)", x, own)
	}
	sql, of, ok := scalar.Steps(w, res.x, digits, column)
	if !ok {
		return nil
	}
	db.stepsSeen++
	product := sql
	if factors, ok := of.Factors(); ok {
		db.productsSeen++
		product = "1"
		for _, f := range factors {
			product += fmt.Sprintf(" * (CAST(%d AS numeric) * %s - (%d))", f.Times, column(f.Column), f.Less)
		}
	}
	x, _, err := w.Clamped(res.x, res.env.Bounds(res.x))
	if err != nil {
		return err
	}
	rows, err := db.query(ctx, res.env,
		fmt.Sprintf("SELECT k, %s, CAST((%s) * 1e%d AS int8), CAST(%s AS int8) FROM public.t AS t0", sql, x, digits, product))
	if err != nil {
		return fmt.Errorf("steps: %w\n\t%s", err, sql)
	}
	for _, r := range rows {
		if text(r[1]) != text(r[2]) || text(r[3]) != text(r[2]) {
			return fmt.Errorf("row %s: %s steps of 1e-%d, %s as a product, want %s\n\t%s\n\t%s", *r[0], text(r[1]), digits, text(r[3]),
				text(r[2]), sql, product)
		}
	}
	return nil
}

func text(s *string) string {
	if s == nil {
		return "NULL"
	}
	return *s
}

// listed reports values of an expression that are not among those that it is said to have, of
// rows within the bounds of columns.
func (db *database) listed(ctx context.Context, res *resolved) error {
	texts, null, ok := res.env.Enumerate(res.x, nil, 2000)
	if !ok {
		return nil
	}
	key, t, err := res.writer().Key(res.x)
	if err != nil {
		return fmt.Errorf("listed, but not written: %w", err)
	}
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = ast.Quote(text)
	}
	among := "(" + key + ") = ANY (CAST(ARRAY[" + strings.Join(quoted, ", ") + "]::text[] AS " + t.SQL() + "[]))"
	if null {
		among += " OR (" + key + ") IS NULL"
	}
	missing, err := db.query(ctx, res.env, "SELECT k, coalesce(CAST("+key+" AS text), 'NULL') FROM public.t AS t0 WHERE inside AND ("+
		among+") IS NOT TRUE LIMIT 1")
	switch {
	case err != nil:
		return fmt.Errorf("listed %q: %w", texts, err)
	case len(missing) > 0:
		return fmt.Errorf("row %s: %s is not among %q", *missing[0][0], *missing[0][1], texts)
	}
	return nil
}

// value writes an expression; a local time as the instant that the analyst's session
// would read.
func value(w *scalar.Writer, x scalar.Expr) (string, error) {
	sql, physical, err := w.Value(x)
	if x.Type().OID == 1184 && physical.OID == 1114 {
		sql = "timezone('" + analystZone + "', " + sql + ")"
	}
	return sql, err
}

// within writes the bounded value as a number.
func (db *database) within(w *scalar.Writer, x scalar.Expr, bounds scalar.Interval) (string, error) {
	switch x.Type().Family() { //nolint:exhaustive // the others have no bounds
	case pgtype.IntFamily, pgtype.NumericFamily, pgtype.FloatFamily, pgtype.DateFamily, pgtype.InstantFamily:
		sql, physical, err := w.Clamped(x, bounds)
		return measured(physical, sql), err
	case pgtype.BoolFamily, pgtype.IntervalFamily:
		sql, physical, err := w.Value(x)
		return measured(physical, sql), err
	default:
		return "NULL", nil
	}
}

func inBounds(s *string, i scalar.Interval, float bool) error {
	switch {
	case s == nil && i.Bounded() && !i.Null:
		return errors.New("NULL, and cannot be")
	case s == nil || !i.Bounded():
		return nil
	}
	v, ok := new(big.Rat).SetString(*s)
	if f, err := strconv.ParseFloat(*s, 64); float && err == nil { // the shortest text of a float is not all of it
		v = new(big.Rat).SetFloat64(f)
		ok = v != nil
	}
	switch {
	case !ok:
		return fmt.Errorf("%s is not finite", *s)
	case v.Cmp(i.Low) < 0 || v.Cmp(i.High) > 0:
		return fmt.Errorf("%s is not within [%s, %s]", *s, i.Low.FloatString(10), i.High.FloatString(10))
	case i.Least != nil && v.Sign() != 0 && new(big.Rat).Abs(v).Cmp(i.Least) < 0:
		return fmt.Errorf("%s is less than the least value %s", *s, i.Least.FloatString(50))
	}
	return nil
}

// sameType compares the type with that of plain Postgres.
func sameType(oid string, t pgtype.Type) error {
	n, err := strconv.Atoi(oid)
	if user := n >= 16384; err != nil || user != (t.OID == 0) || !user && n != int(t.OID) && n != unknown {
		return fmt.Errorf("has type %s, not %s", oid, t)
	}
	return nil
}

// unknown is the type of a literal alone, which becomes text.
const unknown = 705

// equal compares values with plain Postgres's, row by row where that raises.
func (db *database) equal(ctx context.Context, text string, t pgtype.Type, ours [][]*string, from string) error {
	sql := "SELECT k, " + shown(t, text) + ", CAST(pg_typeof(" + text + ") AS oid) FROM " + from + " WHERE "
	all, err := db.native(ctx, sql+"inside ORDER BY k")
	for i := 0; err != nil && i < len(ours); i++ {
		if *ours[i][1] == "t" {
			one, failed := db.native(ctx, sql+"k = "+*ours[i][0])
			if failed == nil {
				all = append(all, one...)
			}
		}
	}
	values := map[string]*string{}
	for _, r := range ours {
		values[*r[0]] = r[2]
	}
	for _, r := range all {
		if err := sameType(*r[2], t); err != nil {
			return err
		}
		want, got := r[1], values[*r[0]]
		if (want == nil) != (got == nil) || want != nil && *want != *got {
			return fmt.Errorf("row %s: %s, in Postgres %s", *r[0], orNull(got), orNull(want))
		}
	}
	return nil
}

func orNull(s *string) string {
	if s == nil {
		return "NULL"
	}
	return *s
}
