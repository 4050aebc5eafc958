package scalar_test

import (
	"context"
	"errors"
	"fmt"

	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// spelled reads an expression as a column of a derived table, and groups rows by it, if its
// equal values are said to be identical there: they are, and look as in plain Postgres.
func (db *database) spelled(ctx context.Context, res *resolved, text string) error {
	if !scalar.OneSpelling(res.x) || len(res.x.Columns()) == 0 {
		return nil
	}
	x := &scalar.Column{Name: "x", Type: res.x.Type(), Of: []scalar.Expr{res.x}}
	w := res.writer()
	column, err := w.Target(x, 0)
	var refusal *pgerr.Error
	if errors.As(err, &refusal) && refusal.Code != pgerr.Internal { // what has no bounds can only be compared
		return nil
	}
	if err != nil {
		return err
	}
	inner, keys, err := w.Grouped([]scalar.Expr{res.x})
	if err != nil {
		return err
	}
	key, err := inner.Target(x, 0)
	if err != nil {
		return err
	}
	column += " AS x FROM public.t AS t0"
	for _, from := range []string{column, key + " AS x FROM public.t AS t0 GROUP BY " + keys[0]} {
		several, err := db.query(ctx, res.env, "SELECT CAST(count(*) AS text) FROM (SELECT 1 FROM (SELECT "+from+
			") AS r GROUP BY x HAVING count(DISTINCT record_send(ROW(x))) > 1) AS s")
		if err != nil || *several[0][0] != "0" {
			return fmt.Errorf("equal values look different: %w\n\tSELECT %s", err, from)
		}
	}
	bytes := "CAST((%s) AS text)"
	switch {
	case x.Type.OID == 1042:
		bytes = "encode(bpcharsend((%s)), 'hex')"
	case x.Type.Family() != pgtype.NumericFamily:
		return nil
	}
	theirs, err := db.native(ctx, "SELECT "+fmt.Sprintf(bytes, text)+" FROM t WHERE inside ORDER BY k")
	if err != nil { // it raises on some row
		return nil //nolint:nilerr // then there is nothing to compare
	}
	ours, err := db.query(ctx, res.env, "SELECT "+fmt.Sprintf(bytes, "x")+" FROM (SELECT k, inside, "+column+
		") AS r WHERE inside ORDER BY k")
	for i := range theirs {
		if err == nil && orNull(ours[i][0]) != orNull(theirs[i][0]) {
			err = fmt.Errorf("row %d looks like %s, in Postgres like %s\n\t%s", i, orNull(ours[i][0]), orNull(theirs[i][0]), column)
		}
	}
	return err
}
