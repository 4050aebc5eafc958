package scalar_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/pgerr"
)

// resolved is an expression with the values of its constants.
func (db *database) resolved(ctx context.Context, text string) (*resolved, error) {
	e, _, err := parse(text)
	if err != nil {
		return nil, err
	}
	return db.resolve(ctx, resolver(), e)
}

// lacks reports whether the protected database has not the functions of an expression, as it says itself: date_bin is there from
// Postgres 14 on.
func (db *database) lacks(t *testing.T, text string) bool {
	t.Helper()
	const undefinedFunction = "42883"
	_, err := db.data.Exec(t.Context(), "SELECT "+text+" FROM public.t LIMIT 0")
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == undefinedFunction
}

// TestBefore14 writes parts of dates and times for a Postgres whose EXTRACT is of doubles:
// the same numerics, to the last decimal.
func TestBefore14(t *testing.T) {
	db := open(t)
	for _, x := range []string{"d", "ts", "tz", "(ts - d)", "age(ts, d)", "age(d, ts)", "age(d)"} {
		for _, field := range []string{
			"microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "isoyear", "decade",
			"century", "millennium", "dow", "isodow", "doy", "epoch",
		} {
			text := fmt.Sprintf("extract(%s from %s)", field, x)
			res, err := db.resolved(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			res.env.Before14 = true
			sql, err := value(res.writer(), res.x)
			if refused, ok := errors.AsType[*pgerr.Error](err); ok && refused.Code == pgerr.NotAllowed {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			ours, err := db.query(t.Context(), res.env, "SELECT k, inside, CAST("+sql+" AS text) FROM public.t AS t0 ORDER BY k")
			if err != nil {
				t.Fatal(err)
			}
			native, err := db.native(t.Context(), "SELECT k, CAST("+text+" AS text) FROM t WHERE inside ORDER BY k")
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, r := range native {
				want[*r[0]] = orNull(r[1])
			}
			for _, r := range ours {
				if w, ok := want[*r[0]]; ok && w != orNull(r[2]) {
					t.Errorf("%s in row %s: %s, in Postgres %s\n%s", text, *r[0], orNull(r[2]), w, sql)
				}
			}
		}
	}
}

// TestInfiniteNumerics refuses constants that a Postgres before 14 cannot read.
func TestInfiniteNumerics(t *testing.T) {
	db := open(t)
	for text, refused := range map[string]bool{
		"nu = 'Infinity'": true, "nu < '-Infinity'": true, "nu = ANY ('{1,Infinity}')": true, "nu = ANY (ARRAY[1.5, '-Infinity'])": true,
		"nu = 'NaN'": false, "nu = ANY ('{1,NaN}')": false, "fu = 'Infinity'": false, "fu = ANY ('{Infinity}')": false, "nu < 1e10": false,
	} {
		for _, before := range []bool{true, false} {
			res, err := db.resolved(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			res.env.Before14 = before
			if _, err := value(res.writer(), res.x); (err != nil) != (refused && before) {
				t.Errorf("%s before 14 %t: %v", text, before, err)
			}
		}
	}
}

// TestInfiniteIntervals computes nothing with the infinite intervals of Postgres 17, and compares
// with them.
func TestInfiniteIntervals(t *testing.T) {
	db := open(t)
	// Before 17, the first is finite and the same bytes, and the others are none.
	const largest = "interval '178956970 years 7 mons 2147483647 days 2562047788:00:54.775807'"
	for _, i := range []string{largest, "interval 'infinity'", "interval '-infinity'"} {
		for text, refused := range map[string]bool{
			"ts + %s": true, "d - %s": true, "tz + %s": true, "%s + ts": true,
			"ts - d < %s": false, "iv = %s": false, "CASE WHEN ts - d > %s THEN 1 ELSE 0 END": false,
		} {
			text := fmt.Sprintf(text, i)
			res, err := db.resolved(t.Context(), text)
			if errors.Is(err, errMirror) && i != largest {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := value(res.writer(), res.x); (err != nil) != refused {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}
