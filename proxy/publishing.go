package proxy

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/mirror"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/publication"
	"dpproxy/wire"
)

// This file publishes results: a statement that makes a table in the schema published on the mirror, or changes one there, has the table
// keep a record of its result, and lets those read it who could have asked. The record and the rights are written in the transaction of
// the statement, as its analyst.

// keep releases a statement, and publishes its result if it stays in a published table.
func keep(ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	return keepIn(ctx, e, m, b, e.text.stmt.Destination)
}

// keepIn is keep of a statement whose result stays elsewhere than its text says.
func keepIn(ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest, to parser.Destination) (wire.Rewrite, error) {
	before := lastOf(e.session)
	rw, err := e.release(ctx, m, b)
	if err != nil || rw.Relay {
		return rw, err
	}
	p := publishing{execution: e, asker: m, asked: strings.TrimSpace(b.Asked)}
	if last := lastOf(e.session); last != before {
		p.of = last
	}
	return rw, p.publish(ctx, to)
}

// A publishing publishes the result of one statement.
type publishing struct {
	*execution

	asker *wire.Asker
	asked string   // as the client wrote it
	of    *account // nil of a result that says nothing of protected rows
}

func (p publishing) publish(ctx context.Context, to parser.Destination) error {
	if to.Made.Name != "" {
		made, err := madeIn(ctx, p.asker, to.Made.Schema)
		if err != nil || made != mirror.PublishedSchema {
			return err
		}
		return p.made(ctx)
	}
	for _, c := range to.Changes {
		tables, err := publishedBy(ctx, p.asker, c.Of)
		if err != nil {
			return err
		}
		for _, t := range tables {
			if err := p.changed(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// madeIn is the schema of a table that is made: the current one, if the statement names none.
func madeIn(ctx context.Context, m *wire.Asker, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	res, err := m.Query(ctx, "SELECT pg_catalog.current_schema()", nil, nil, nil, nil)
	if err != nil || len(res.Rows) != 1 {
		return "", err
	}
	return string(res.Rows[0][0]), nil
}

// made tells the mirror, for the rest of the transaction, what it notes of the table that the statement makes.
func (p publishing) made(ctx context.Context) error {
	r := p.record(ctx, publication.Record{Owner: p.analyst})
	sealed, record, err := p.sealed(r)
	if err != nil {
		return err
	}
	told, err := json.Marshal(struct {
		Comment string   `json:"comment"`
		Record  string   `json:"record"`
		Readers []string `json:"readers"`
	}{comment(r, p.of), record, sealed.Readers})
	if err != nil {
		return err
	}
	_, err = p.asker.Query(ctx, "SELECT pg_catalog.set_config('"+mirror.PublishingSetting+"', $1, true)",
		[]uint32{pgtype.TextOID}, [][]byte{told}, nil, nil)
	return err
}

// findPublished selects the published tables that rows of a relation may come to, itself or behind views, of which the session's user may
// change rows: the record of each, and whether the user may change that.
const findPublished = `WITH RECURSIVE reached (oid) AS (
		SELECT pg_catalog.to_regclass($1)::pg_catalog.oid
	UNION
		SELECT d.refobjid FROM reached r JOIN pg_catalog.pg_rewrite w ON w.ev_class OPERATOR(pg_catalog.=) r.oid
			JOIN pg_catalog.pg_depend d ON d.objid OPERATOR(pg_catalog.=) w.oid
		WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass
			AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass)
	SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), COALESCE(pg_catalog.obj_description(c.reltype, 'pg_type'), ''),
		pg_catalog.pg_has_role(c.relowner, 'USAGE')
	FROM reached r JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) r.oid
		JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
	WHERE n.nspname OPERATOR(pg_catalog.=) '` + mirror.PublishedSchema + `' AND (
		pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE') OR pg_catalog.has_any_column_privilege(c.oid, 'INSERT, UPDATE'))`

// publishedBy are the published tables to which a change of a relation may bring rows. Their columns are those of [findPublished].
func publishedBy(ctx context.Context, m *wire.Asker, of parser.NewTable) ([][][]byte, error) {
	res, err := m.Query(ctx, findPublished, []uint32{pgtype.TextOID}, [][]byte{[]byte(ast.QualifiedIdent(of.Schema, of.Name))}, nil, nil)
	if err != nil {
		return nil, err
	}
	return res.Rows, nil
}

// mayPublish refuses results in a published table of somebody else: its record and its readers would not be those of its rows.
func mayPublish(ctx context.Context, m *wire.Asker, of parser.NewTable) error {
	found, err := publishedBy(ctx, m, of)
	for _, row := range found {
		if string(row[2]) != "t" {
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for table %s: it is another analyst's", of.Name).
				WithHint("Publish the result in a table of your own.")
		}
	}
	return err
}

// changed notes on a published table that rows of the statement's result come to it. Analysts who may not ask about all of
// its statements no longer read it.
func (p publishing) changed(ctx context.Context, found [][]byte) error {
	table := string(found[0])
	var was mirror.Publication
	_ = json.Unmarshal(found[1], &was) // a table without a record gets one
	before, ok := p.p.cfg.Publications.Open(was.Record)
	if !ok || before.Owner != p.analyst {
		before = publication.Record{Owner: p.analyst}
	}
	r := p.record(ctx, before)
	sealed, record, err := p.sealed(r)
	if err != nil {
		return err
	}
	changes := []string{
		"COMMENT ON TABLE " + table + " IS " + ast.Quote(comment(r, p.of)),
		"COMMENT ON TYPE " + table + " IS " + ast.Quote(record),
	}
	for _, reader := range was.Readers {
		if !slices.Contains(sealed.Readers, reader) {
			changes = append(changes, "REVOKE SELECT ON "+table+" FROM "+ast.QuoteIdent(reader)+" CASCADE")
		}
	}
	for _, reader := range sealed.Readers {
		if !slices.Contains(was.Readers, reader) {
			changes = append(changes, "GRANT SELECT ON "+table+" TO "+ast.QuoteIdent(reader))
		}
	}
	for _, sql := range changes {
		if _, err := p.asker.Query(ctx, sql, nil, nil, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// record is that of a table after the statement, which had another one before.
func (p publishing) record(ctx context.Context, before publication.Record) publication.Record {
	r, of := before, p.of
	r.Statement, r.Groups, r.Relations, r.AsOf, r.Limits = p.asked, 0, nil, 0, ""
	if len(r.Costs) == 0 {
		r.Price = "cost nothing"
	}
	for _, t := range written(p.text.stmt.Protected) {
		if n := tableName(t); !slices.Contains(r.Tables, n) {
			r.Tables = append(r.Tables, n)
		}
	}
	if of == nil {
		return r
	}
	r.Groups, r.Relations, r.Place, r.Limits = of.rows, of.relations, p.p.memory.Place(of.relations), strings.Join(of.limits, "\n")
	if !of.asOf.IsZero() {
		r.AsOf = of.asOf.Unix()
	}
	if of.receipt == nil && len(r.Costs) > 0 {
		return r // with the price of the last result that cost something
	}
	r.Price, r.Costs = cashier.PriceOf(ctx, p.p.cashier, of.receipt, of.untold, false).Paid(p.analyst), nil
	if of.receipt != nil {
		for _, d := range of.receipt.Debits {
			r.Costs = append(r.Costs, publication.Cost{Scope: d.Scope, Pico: d.Loss.Pico()})
		}
	}
	r.Spent = publication.With(r.Spent, r.Costs)
	return r
}

// sealed is a record with those who read its table, and both as they stand on the mirror.
func (p publishing) sealed(r publication.Record) (sealed mirror.Publication, text string, err error) {
	sealed.Readers = []string{}
	for name, a := range p.p.cfg.Analysts {
		if name != r.Owner && !slices.ContainsFunc(r.Tables, func(n catalog.Name) bool { return !a.Tables[n] }) {
			sealed.Readers = append(sealed.Readers, name)
		}
	}
	slices.Sort(sealed.Readers)
	if sealed.Record, err = p.p.cfg.Publications.Seal(r); err != nil {
		return sealed, "", err
	}
	both, err := json.Marshal(sealed)
	return sealed, string(both), err
}

// comment tells of the result in a table. Everybody reads comments, also who may not read the table: it has nothing that was released.
func comment(r publication.Record, of *account) string {
	said := []string{"published by " + r.Owner}
	if r.AsOf != 0 {
		said = append(said, "as of "+asOf(time.Unix(r.AsOf, 0)))
	}
	said = append(said, r.Price)
	if of != nil {
		said = append(said, "errors at "+perCent(of.confidence))
	}
	return strings.Join(said, "; ")
}

// publishedRow is a row of dp.published.
type publishedRow struct {
	Name      string  `json:"name"`
	Owner     string  `json:"owner"`
	Statement *string `json:"statement"`
	Groups    *int    `json:"groups"`
	Limits    *string `json:"limits"`
	Price     *string `json:"price"`
	AsOf      *string `json:"as_of"`
	Spent     *string `json:"spent"`
	Refreshes *int64  `json:"refreshes"`
	Current   *bool   `json:"current"`
}

// listPublished selects the published tables that the session's user reads, with their records.
const listPublished = `SELECT c.relname, o.rolname, COALESCE(pg_catalog.obj_description(c.reltype, 'pg_type'), '')
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
	JOIN pg_catalog.pg_roles o ON o.oid OPERATOR(pg_catalog.=) c.relowner
	WHERE n.nspname OPERATOR(pg_catalog.=) '` + mirror.PublishedSchema + `' AND c.relkind OPERATOR(pg_catalog.=) 'r'
		AND pg_catalog.has_table_privilege(c.oid, 'SELECT') ORDER BY c.relname`

// publishedRows describe the published tables that the analyst reads. A table that no statement over protected rows made has a name and an
// owner alone.
func (s stateView) publishedRows(ctx context.Context, m *wire.Asker) ([]publishedRow, error) {
	res, err := m.Query(ctx, listPublished, nil, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	rows := []publishedRow{}
	for _, row := range res.Rows {
		var p mirror.Publication
		_ = json.Unmarshal(row[2], &p)
		r, ok := s.p.cfg.Publications.Open(p.Record)
		own := publishedRow{Name: string(row[0]), Owner: string(row[1])}
		if ok && (r.Owner == own.Owner || own.Owner == mirror.Publisher) {
			own.Owner, own.Statement, own.Groups, own.Price = r.Owner, &r.Statement, &r.Groups, &r.Price
			own.Limits = filled(r.Limits)
			if r.AsOf != 0 {
				own.AsOf = new(time.Unix(r.AsOf, 0).UTC().Format(time.RFC3339))
			}
			own.Spent, own.Refreshes = s.spent(ctx, r)
			own.Current = new(r.Place != "" && r.Place == s.p.memory.Place(r.Relations))
		}
		rows = append(rows, own)
	}
	return rows, nil
}

// spent writes what all statements of a table have cost, of the budget that such a statement will exhaust first, and how often that still
// pays for it. Nobody is told of another analyst's own budget.
func (s stateView) spent(ctx context.Context, r publication.Record) (*string, *int64) {
	var scopes []accountant.Scope
	var costs []publication.Cost
	for _, c := range r.Costs {
		if c.Scope.Kind != accountant.AnalystScope || c.Scope.Name == s.analyst {
			scopes, costs = append(scopes, c.Scope), append(costs, c)
		}
	}
	if len(scopes) == 0 {
		return nil, nil
	}
	balances, err := s.p.cfg.Ledger.Balances(ctx, scopes...)
	if err != nil {
		return nil, nil
	}
	scarce, fewest := 0, int64(-1)
	for i, b := range balances {
		n := b.Remaining().Pico() / max(costs[i].Pico, 1)
		if fewest < 0 || n < fewest {
			scarce, fewest = i, n
		}
	}
	limit := balances[scarce].Limit.Pico()
	for _, c := range r.Spent {
		if c.Scope == scopes[scarce] && limit > 0 {
			return new(cashier.PartOf(c.Pico, limit) + " %"), &fewest
		}
	}
	return nil, &fewest
}
