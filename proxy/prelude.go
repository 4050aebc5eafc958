package proxy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/scalar"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// prelude is the answer of the analyst's session on the mirror before anything is
// decided: the settings, the relations of the names, and the values of the
// statement's constants.
type prelude struct {
	settings settings.Settings
	timeout  time.Duration // the session's statement_timeout; 0 is none
	// shadowed says that a name means another relation in this session, such as
	// a temporary table.
	shadowed bool
	values   []scalar.Value
	carried  []byte // settings of the session, as carriedSQL tells them, where a part leaves it
	asked    asked  // the statement and its parameters
	// leftPico is the room for noise reduction where no more is left; 0: as its settings say.
	leftPico int64
}

// The fixed columns of the prelude, after the settings.
const (
	preludeTimeout = iota
	preludeMessages
	preludeSchemas
	preludeFixed
)

// preludeLast is the number of the columns after the constants, since one of these can be
// a set_config: encoding and strings, and the settings that a session of our own takes over.
const preludeLast = 3

// prelude asks the mirror, in the client's own session and transaction. Invalid
// parameters and failing constants are reported by Postgres itself here, before
// anything is charged.
func (e *execution) prelude(ctx context.Context, m *wire.Asker, q *planner.Query, b wire.BindRequest) (*prelude, error) {
	e.enter(stepPrelude)
	res, err := e.ask(ctx, m, q, b)
	if err != nil {
		return nil, err
	}
	row := res.Rows[0]
	p := &prelude{settings: e.p.cfg.Defaults.of(q.Tables()), asked: e.asked(b)}
	for i, name := range settings.Names() {
		if err := p.settings.Parse(name, string(row[i])); err != nil {
			return nil, err
		}
	}
	if settings.Widens(string(p.settings.ErrorColumns)) { // perhaps set by a function
		stateOf(e.session).widens = true
	}
	fixed := row[len(settings.Names()):]
	p.timeout = duration(fixed[preludeTimeout])
	if slices.Contains([]string{"warning", "error", "log"}, string(fixed[preludeMessages])) {
		p.settings.Notice = settings.Silence
	}
	if err := searchesCatalogFirst(string(fixed[preludeSchemas])); err != nil {
		return nil, err
	}
	if err := searchesDP(string(fixed[preludeSchemas]), e.text.stmt.Bare); err != nil {
		return nil, err
	}
	// A SET that stands before the statement in one pipeline was not known when it came.
	last := row[len(row)-preludeLast:]
	if err := lexable(string(last[0]), string(last[1])); err != nil {
		return nil, err
	}
	tables := e.inquiry(q).tables
	relations := fixed[preludeFixed:][:len(tables)]
	protected := len(e.text.stmt.Named())
	if p.shadowed, err = e.p.relations.shadowed(ctx, tables[:protected], relations[:protected]); err != nil || p.shadowed {
		return p, err
	}
	if err := e.p.relations.checkPublic(ctx, tables[protected:], relations[protected:]); err != nil {
		return nil, err
	}
	if err := p.settings.ReadComments(e.text.stmt); err != nil {
		return nil, err
	}
	first := len(settings.Names()) + preludeFixed + len(relations)
	p.values, p.carried = values(res.Fields[first:], row[first:], q.Folds()), last[2]
	if err := e.concealedValues(ctx, q, p); err != nil {
		return nil, err
	}
	return p, listKeys(ctx, e, m, q, p)
}

// asked identifies the statement, of a part that of which it is one.
func (e *execution) asked(b wire.BindRequest) asked {
	if e.part != nil {
		return e.part.whole
	}
	return askedBy(e.text.stmt.InnerText(), b)
}

// ask asks the questions of the prelude, unless that was done early. The answer has one row.
// Postgres reads all parameters when they are bound, even parameters of the text around
// the blocks: a bad value fails here and not after the charge.
func (e *execution) ask(ctx context.Context, m *wire.Asker, q *planner.Query, b wire.BindRequest) (*wire.Result, error) {
	i := e.inquiry(q)
	res, err := e.once(i.sql, func() (*wire.Result, error) {
		if b.Early != nil {
			return b.Early, nil
		}
		return m.Query(ctx, i.sql, b.ParamOIDs, b.Params, b.Formats, i.formats)
	})
	if err != nil {
		return nil, err
	}
	if len(res.Rows) != 1 {
		return nil, fmt.Errorf("proxy: the prelude returned %d rows", len(res.Rows))
	}
	return res, nil
}

// early is the prelude of a Query, which follows from its text alone: it goes to the mirror
// together with the text. A statement that is refused asks nothing.
func (e *execution) early() *wire.Question {
	if e.text.stmt.Let != nil {
		return nil
	}
	analysed, err := e.granted(e.session.Context(), nil, wire.BindRequest{})
	if err != nil || e.text.stmt.Destination.Cursor != "" { // such a statement is rehearsed first
		return nil
	}
	i := e.inquiry(analysed.query)
	return &wire.Question{SQL: i.sql, ResultFormats: i.formats}
}

// An inquiry is the text of a prelude, which follows from the query.
type inquiry struct {
	of *planner.Query
	// tables are the relations whose names it asks about: protected ones first.
	tables  []ast.TableRef
	sql     string
	formats []int16
}

// inquiry returns the prelude of a query. The text keeps the last one.
func (e *execution) inquiry(q *planner.Query) *inquiry {
	if i := e.text.inquiry.Load(); i != nil && i.of == q {
		return i
	}
	tables := slices.Concat(e.text.stmt.Named(), q.Public())
	i := &inquiry{of: q, tables: tables, sql: preludeSQL(q, tables), formats: preludeFormats(q, tables)}
	e.text.inquiry.Store(i)
	return i
}

// Shown returns the settings that sessions begin with, by their names, for SHOW and current_setting, without those of tables.
func (d Defaults) Shown() map[string]string {
	s := d.of(nil)
	return s.Shown()
}

// of returns the settings of a session that set none, for a statement about some tables.
func (d Defaults) of(tables []catalog.Name) settings.Settings {
	var own TableDefaults
	for _, t := range tables {
		own = own.frugal(d.TableDefaults[t])
	}
	s := settings.Settings{
		EpsilonPico: cmp.Or(own.EpsilonPico, d.EpsilonPico), Mechanism: d.Mechanism, Confidence: d.Confidence, Notice: settings.Brief,
		Target: d.Target, MaxEpsilonPico: cmp.Or(own.MaxEpsilonPico, d.MaxEpsilonPico), Refine: d.Refine,
		MinimumPeople: d.MinimumPeople,
	}
	s.Target.Relative, s.Target.Fraction = cmp.Or(own.RelativeError, d.Target.Relative), cmp.Or(own.TargetFraction, d.Target.Fraction)
	return s
}

func preludeSQL(q *planner.Query, tables []ast.TableRef) string {
	var cols []string
	for _, name := range settings.Names() {
		cols = append(cols, "pg_catalog.current_setting('dp."+name+"', true)")
	}
	cols = append(cols,
		"pg_catalog.current_setting('statement_timeout')",
		"pg_catalog.current_setting('client_min_messages')",
		"pg_catalog.array_to_string(pg_catalog.current_schemas(true), ',')")
	cols = append(cols, relationColumns(tables)...)
	constants, from := scalar.Evaluation(q.Folds())
	cols = append(cols, constants...)
	carry := "NULL"
	if leavesSession(q) {
		carry = carriedSQL
	}
	cols = append(cols, "pg_catalog.current_setting('client_encoding')",
		"pg_catalog.current_setting('standard_conforming_strings')", carry)
	return "SELECT " + strings.Join(cols, ", ") + from
}

// preludeFormats asks for text, and for binary where a value travels on: binary
// values do not depend on the session's settings.
func preludeFormats(q *planner.Query, tables []ast.TableRef) []int16 {
	formats := make([]int16, len(settings.Names())+preludeFixed+len(tables))
	for _, f := range q.Folds() {
		if !f.Concealed {
			formats = append(formats, f.Format())
		}
	}
	return append(formats, make([]int16, preludeLast)...)
}

// values reads the first cells: the constants, but for concealed ones.
func values(fields []pgproto3.FieldDescription, cells [][]byte, folds []scalar.Fold) []scalar.Value {
	out, next := make([]scalar.Value, len(folds)), 0
	for i, f := range folds {
		if !f.Concealed {
			out[i] = scalar.Value{
				OID: fields[next].DataTypeOID, Binary: fields[next].Format == 1, Bytes: cells[next], Unknown: f.Unknown,
			}
			next++
		}
	}
	return out
}

// duration reads a setting as Postgres shows it: 0, 200ms, 5s, 1min, 2h or 1d.
func duration(setting []byte) time.Duration {
	s := string(setting)
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	n, err := strconv.ParseInt(s[:digits], 10, 32)
	unit, known := map[string]time.Duration{
		"ms": time.Millisecond, "s": time.Second, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	}[s[digits:]]
	if err != nil || !known {
		return 0
	}
	return time.Duration(n) * unit
}

// searchesCatalogFirst refuses a search path in which a function or operator of
// the statement could mean another one than Postgres's own.
func searchesCatalogFirst(schemas string) error {
	for s := range strings.SplitSeq(schemas, ",") {
		if strings.HasPrefix(s, "pg_temp") {
			continue
		}
		if s == "pg_catalog" {
			return nil
		}
		break
	}
	return pgerr.New(pgerr.FeatureNotSupported, "protected tables need pg_catalog first in search_path").
		WithHint("Leave pg_catalog out of search_path; Postgres searches it first then.")
}

// searchesDP refuses a call by a bare name that search_path may find in the schema dp: on the mirror its functions know no noise.
func searchesDP(schemas string, bare *parser.BareCall) error {
	if bare == nil || !slices.Contains(strings.Split(schemas, ","), "dp") {
		return nil
	}
	return pgerr.New(pgerr.NotAllowed, "search_path may find dp.%[1]s by the bare name %[1]s", bare.Name).At(bare.At).
		WithHint("Write dp.%[1]s(avg(x)) for the one of dpproxy, and pg_catalog.%[1]s for one of Postgres; "+
			"or leave dp out of search_path.", bare.Name)
}
