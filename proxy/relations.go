package proxy

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/wire"
)

// relations knows the OIDs of the protected relations on the mirror.
type relations struct {
	load func(ctx context.Context) (map[catalog.Name]uint32, error)

	mu   sync.Mutex
	oids map[catalog.Name]uint32
}

func (r *relations) reload(ctx context.Context) error {
	oids, err := r.load(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.oids = oids
	return nil
}

// shadowed reports whether one of the names means another relation in the
// session than the protected one. The OIDs are read again once before that is
// believed: a new sync may have made the tables anew.
func (r *relations) shadowed(ctx context.Context, tables []ast.TableRef, oids [][]byte) (bool, error) {
	if r.match(tables, oids) {
		return false, nil
	}
	if err := r.reload(ctx); err != nil {
		return false, errMirror
	}
	return !r.match(tables, oids), nil
}

// checkPublic refuses names of public tables that mean other relations in the session: the
// protected database would read the policy's.
func (r *relations) checkPublic(ctx context.Context, tables []ast.TableRef, oids [][]byte) error {
	for i, t := range tables {
		shadowed, err := r.shadowed(ctx, tables[i:i+1], oids[i:i+1])
		if err != nil {
			return err
		}
		if shadowed {
			return pgerr.New(pgerr.NotAllowed, "%q is another relation in this session than the table of the privacy policy",
				t.Name).At(t.At).
				WithHint("Drop or rename the temporary relation, or write %s.%s.", t.Resolved.Schema, t.Resolved.Name)
		}
	}
	return nil
}

var errMirror = errors.New("proxy: the mirror's relations cannot be read")

func (r *relations) match(tables []ast.TableRef, oids [][]byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, t := range tables {
		oid, err := strconv.ParseUint(string(oids[i]), 10, 32)
		if err != nil || uint32(oid) != r.oids[tableName(t)] {
			return false
		}
	}
	return true
}

func tableName(t ast.TableRef) catalog.Name {
	return catalog.Name{Schema: t.Resolved.Schema, Name: t.Resolved.Name}
}

// anyShadowed asks the session for the relations of the statement's names, and reports whether one means
// another relation than the protected one.
func (r *relations) anyShadowed(ctx context.Context, m *wire.Asker, st *parser.Statement) (bool, error) {
	tables := st.Named()
	if len(tables) == 0 {
		return false, nil
	}
	res, err := m.Query(ctx, "SELECT "+strings.Join(relationColumns(tables), ", "), nil, nil, nil, nil)
	if err != nil {
		return false, err
	}
	if len(res.Rows) != 1 {
		return false, errMirror
	}
	return r.shadowed(ctx, tables, res.Rows[0])
}

// readSQL asks which relations names mean in the session, and which others views among them read.
func readSQL(tables []ast.TableRef) string {
	return "WITH RECURSIVE r(of) AS (SELECT * FROM pg_catalog.unnest(ARRAY[" + strings.Join(relationColumns(tables), ", ") + "]) UNION " +
		"SELECT d.refobjid FROM r JOIN pg_catalog.pg_rewrite AS w ON w.ev_class OPERATOR(pg_catalog.=) r.of " +
		"JOIN pg_catalog.pg_depend AS d ON d.objid OPERATOR(pg_catalog.=) w.oid " +
		"AND d.classid OPERATOR(pg_catalog.=) CAST('pg_catalog.pg_rewrite' AS pg_catalog.regclass) " +
		"AND d.refclassid OPERATOR(pg_catalog.=) CAST('pg_catalog.pg_class' AS pg_catalog.regclass)) " +
		"SELECT n.nspname, c.relname FROM r JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) r.of " +
		"JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
}

// relationColumns asks which relations names mean in the session.
func relationColumns(tables []ast.TableRef) []string {
	var cols []string
	for _, t := range tables {
		name := ast.QuoteIdent(t.Name)
		if t.Schema != "" {
			name = ast.QuoteIdent(t.Schema) + "." + name
		}
		cols = append(cols, "CAST(pg_catalog.to_regclass("+ast.Quote(name)+") AS pg_catalog.oid)")
	}
	return cols
}
