package proxy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/pgtype"
	"dpproxy/wire"
)

// keptProofs bounds the proofs that a session remembers.
const keptProofs = 200

// describe proves on the mirror, before the charge, that the rewritten statement
// has the columns of the original. A proof holds in its session for
// the same text while the original has the same columns.
func (e *execution) describe(ctx context.Context, m *wire.Asker, q *planner.Query, p *prelude, b wire.BindRequest) error {
	e.enter(stepDescribe)
	key := e.text.stmt.Text + "\x00" + columnKey(b)
	state := stateOf(e.session)
	if state.proofs[key] {
		return nil
	}
	if err := e.describeConcealed(ctx, q, p); err != nil {
		return err
	}
	sql, _ := e.parameterised(q, len(b.ParamOIDs))
	d, err := m.Describe(ctx, sql, b.ParamOIDs)
	// A cancel request that was sent while the client's own text was described may arrive now.
	if refused, ok := errors.AsType[*wire.MirrorError](err); ok && refused.Code != pgerr.QueryCanceled.String() {
		return fmt.Errorf("proxy: the mirror refused a rewritten statement with SQLSTATE %s", refused.Code)
	}
	if err != nil {
		return err
	}
	if err := sameColumns(d.Fields, b.Fields); err != nil {
		return err
	}
	if len(state.proofs) >= keptProofs {
		clear(state.proofs)
	}
	state.proofs[key] = true
	return nil
}

// sameColumns compares the columns of the rewritten statement with the columns of the original.
func sameColumns(rewritten, original []pgproto3.FieldDescription) error {
	named := func(x, y pgproto3.FieldDescription) bool { return string(x.Name) == string(y.Name) }
	if !slices.EqualFunc(rewritten, original, named) {
		return errors.New("proxy: a rewritten statement has other columns than the original")
	}
	for i, x := range rewritten {
		if y := original[i]; x.DataTypeOID != y.DataTypeOID || x.TypeModifier != y.TypeModifier {
			return pgerr.New(pgerr.FeatureNotSupported, "the type of column %q of the result cannot be kept over protected rows", x.Name).
				WithHint("Cast it where it is selected: CAST(x AS %s). A sub-select that it is computed of has to be cast as well.",
					typeName(y))
		}
	}
	return nil
}

// typeName names the type of a column, for a cast; "text" if the type is not known here.
func typeName(f pgproto3.FieldDescription) string {
	if t, ok := pgtype.OfParameter(f.DataTypeOID); ok && !t.Named() && t.SQL() != "" {
		return t.String()
	}
	return "text"
}

// columnKey writes the types of parameters and the names and types of columns.
func columnKey(b wire.BindRequest) string {
	var key []byte
	for _, oid := range b.ParamOIDs {
		key = binary.BigEndian.AppendUint32(key, oid)
	}
	for _, f := range b.Fields {
		key = append(strconv.AppendQuote(key, string(f.Name)), ':')
		key = binary.BigEndian.AppendUint32(key, f.DataTypeOID)
		key = binary.BigEndian.AppendUint32(key, uint32(f.TypeModifier))
	}
	return string(key)
}

// A place is that of an array in a rewritten query: a column of the relation of a block, or
// of the rows of a view that is concealed.
type place struct {
	view       bool
	of, column int
}

// spliced returns the rewritten query, or the query inside a utility statement, with an array
// in each place. The places are asked for in the order in which they stand there.
func (e *execution) spliced(q *planner.Query, inner bool, array func(place) string) string {
	relation := func(i int) string {
		return q.Relation(i, func(col int) string { return array(place{of: i, column: col}) })
	}
	return e.text.stmt.Unconcealed(inner, relation, func(i int) string {
		return q.ConcealedRelation(i, func(col int) string { return array(place{view: true, of: i, column: col}) })
	})
}

// parameterised returns the rewritten query with the arrays as the parameters after the
// client's own, and their places.
func (e *execution) parameterised(q *planner.Query, params int) (sql string, places []place) {
	sql = e.spliced(q, e.text.stmt.Form == parser.Utility, func(p place) string {
		places = append(places, p)
		return "$" + strconv.Itoa(params+len(places))
	})
	return sql, places
}
