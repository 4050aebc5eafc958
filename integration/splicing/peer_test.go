package splicing_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

// A peer is a session, with dpproxy or with Postgres itself.
type peer struct {
	conn *pgx.Conn
	// types are the names of types that users made: their OIDs differ.
	types map[uint32]string
	lines []string
	// fetching says that rows come from a cursor: over a released relation it does not know
	// the table of a column.
	fetching bool
	// executing says that rows come from EXECUTE: Postgres describes them before it folds
	// constants, which can bring a typmod to light, and here they are a query's own.
	executing bool
	// failed is the first error of the conversation.
	failed *pgconn.PgError
}

func (p *peer) note(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// begin forgets the last conversation.
func (p *peer) begin() { p.lines, p.failed, p.fetching, p.executing = nil, nil, false, false }

// end notes the error that ended a step by its class, and leaves a failed transaction.
func (p *peer) end(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	p.note("ERROR %s", refused.Code)
	if p.failed == nil {
		p.failed = refused
	}
	if p.conn.PgConn().TxStatus() != 'I' {
		_, err := p.conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll()
		return err
	}
	return nil
}

// fields notes the description of columns.
func (p *peer) fields(ctx context.Context, fields []pgconn.FieldDescription) error {
	for _, f := range fields {
		name, err := p.typeName(ctx, f.DataTypeOID)
		if err != nil {
			return err
		}
		p.note("%s %s of %d bytes, format %d", f.Name, name, f.DataTypeSize, f.Format)
		if !p.executing {
			p.note("typmod %d", f.TypeModifier)
		}
		if !p.fetching {
			p.note("column %d of a table: %t", f.TableAttributeNumber, f.TableOID != 0)
		}
	}
	return nil
}

const firstUserOID = 16384

func (p *peer) typeName(ctx context.Context, oid uint32) (string, error) {
	if oid < firstUserOID {
		return fmt.Sprint(oid), nil
	}
	if p.types[oid] == "" {
		var name string
		if err := p.conn.QueryRow(ctx, "SELECT format_type($1, NULL)", oid).Scan(&name); err != nil {
			return "", err
		}
		p.types[oid] = name
	}
	return p.types[oid], nil
}

// rows notes rows, sorted where Postgres promises no order.
func (p *peer) rows(rows [][][]byte, ordered bool) {
	texts := make([]string, len(rows))
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, c := range row {
			if cells[j] = fmt.Sprintf("%q", c); c == nil {
				cells[j] = "NULL"
			}
		}
		texts[i] = strings.Join(cells, "|")
	}
	if !ordered {
		slices.Sort(texts)
	}
	p.lines = append(p.lines, texts...)
}

func (p *peer) result(ctx context.Context, r *pgconn.Result, ordered bool) error {
	if r.Err == nil {
		if err := p.fields(ctx, r.FieldDescriptions); err != nil {
			return err
		}
		p.rows(r.Rows, ordered)
		p.note("%s", r.CommandTag)
	}
	return p.end(ctx, r.Err)
}

// simple sends one message, of one statement or of several.
func (p *peer) simple(ctx context.Context, sql string, ordered bool) error {
	results, err := p.conn.PgConn().Exec(ctx, sql).ReadAll()
	for _, r := range results {
		if err := p.result(ctx, r, ordered); err != nil {
			return err
		}
	}
	if len(results) > 0 && results[len(results)-1].Err != nil {
		err = nil // it is that of the result, which has noted it
	}
	return p.end(ctx, err)
}

// prepared parses once, and binds twice: texts in and out, and binary.
func (p *peer) prepared(ctx context.Context, sql string, params []string, ordered bool) error {
	c := p.conn.PgConn()
	d, err := c.Prepare(ctx, "s", sql, nil)
	if err != nil {
		return p.end(ctx, err)
	}
	defer func() { _ = c.Deallocate(ctx, "s") }() // a session that is gone says so at the next step
	p.note("parameters of types %v", d.ParamOIDs)
	if err := p.fields(ctx, d.Fields); err != nil {
		return err
	}
	texts := make([][]byte, len(params))
	for i, v := range params {
		texts[i] = []byte(v)
	}
	if err := p.result(ctx, c.ExecPrepared(ctx, "s", texts, nil, nil).Read(), ordered); err != nil {
		return err
	}
	binaries, formats, err := encode(d.ParamOIDs, params)
	if err != nil {
		return err
	}
	return p.result(ctx, c.ExecPrepared(ctx, "s", binaries, formats, []int16{outFormat(d.Fields)}).Read(), ordered)
}

// outFormat is binary, but for columns whose values carry OIDs of types.
func outFormat(fields []pgconn.FieldDescription) int16 {
	for _, f := range fields {
		if f.DataTypeOID >= firstUserOID {
			return pgtype.TextFormatCode
		}
	}
	return pgtype.BinaryFormatCode
}

func encode(oids []uint32, params []string) (values [][]byte, formats []int16, err error) {
	m := pgtype.NewMap()
	for i, oid := range oids {
		v, err := m.Encode(oid, pgtype.BinaryFormatCode, params[i], nil)
		if number, ok := numbers[oid]; ok {
			v, err = m.Encode(oid, pgtype.BinaryFormatCode, number(params[i]), nil)
		}
		if err != nil {
			return nil, nil, err
		}
		values, formats = append(values, v), append(formats, pgtype.BinaryFormatCode)
	}
	return values, formats, nil
}

// numbers read texts for types whose binary form is none.
var numbers = map[uint32]func(string) any{
	pgtype.Int4OID:    func(s string) any { n := pgtype.Int8{}; _ = n.Scan(s); return n.Int64 },
	pgtype.Int8OID:    func(s string) any { n := pgtype.Int8{}; _ = n.Scan(s); return n.Int64 },
	pgtype.NumericOID: func(s string) any { n := pgtype.Numeric{}; _ = n.Scan(s); return n },
}

// copied asks for rows by COPY.
func (p *peer) copied(ctx context.Context, sql string, ordered bool) error {
	var out bytes.Buffer
	tag, err := p.conn.PgConn().CopyTo(ctx, &out, sql)
	if err != nil {
		return p.end(ctx, err)
	}
	lines := strings.Split(out.String(), "\n")
	if !ordered {
		slices.Sort(lines)
	}
	p.note("%q %s", lines, tag)
	return nil
}

// copiedBinary asks for rows by COPY in the binary format, or as CSV where a value carries the
// OID of a type.
func (p *peer) copiedBinary(ctx context.Context, query string, ordered bool) error {
	d, err := p.conn.PgConn().Prepare(ctx, "", query, nil)
	if err != nil {
		return p.end(ctx, err)
	}
	if outFormat(d.Fields) == pgtype.TextFormatCode {
		return p.copied(ctx, "COPY ("+query+"\n) TO STDOUT CSV", ordered)
	}
	var out bytes.Buffer
	tag, err := p.conn.PgConn().CopyTo(ctx, &out, "COPY ("+query+"\n) TO STDOUT (FORMAT binary)")
	if err != nil {
		return p.end(ctx, err)
	}
	rows, err := tuples(out.Bytes())
	if err != nil {
		return err
	}
	p.rows(rows, ordered)
	p.note("%s", tag)
	return nil
}

// tuples reads the binary format of COPY: a header, rows of values with their lengths, and an
// end.
func tuples(b []byte) (rows [][][]byte, err error) {
	const header = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	rest, ok := bytes.CutPrefix(b, []byte(header))
	for ok && len(rest) >= 2 {
		n := int16(binary.BigEndian.Uint16(rest))
		rest = rest[2:]
		if n < 0 && len(rest) == 0 {
			return rows, nil
		}
		row := make([][]byte, max(n, 0))
		for i := range row {
			if len(rest) < 4 {
				return nil, errors.New("a row of COPY ends early")
			}
			size := int32(binary.BigEndian.Uint32(rest))
			rest = rest[4:]
			if size < 0 {
				continue
			}
			if int(size) > len(rest) {
				return nil, errors.New("a value of COPY ends early")
			}
			row[i], rest = rest[:size:size], rest[size:]
		}
		rows = append(rows, row)
	}
	return nil, fmt.Errorf("COPY sent what is not its binary format: %q", b[:min(len(b), 40)])
}

// explained notes the columns of EXPLAIN, and that it has rows: they are another plan's.
func (p *peer) explained(ctx context.Context, sql string) error {
	results, err := p.conn.PgConn().Exec(ctx, sql).ReadAll()
	for _, r := range results {
		if err := p.plan(ctx, r); err != nil {
			return err
		}
	}
	if len(results) > 0 && results[len(results)-1].Err != nil {
		err = nil // it is that of the result
	}
	return p.end(ctx, err)
}

// explainedPrepared is explained with parameters.
func (p *peer) explainedPrepared(ctx context.Context, sql string, params []string) error {
	d, err := p.conn.PgConn().Prepare(ctx, "", sql, nil)
	if err != nil {
		return p.end(ctx, err)
	}
	if err := p.fields(ctx, d.Fields); err != nil {
		return err
	}
	texts := make([][]byte, len(params))
	for i, v := range params {
		texts[i] = []byte(v)
	}
	return p.plan(ctx, p.conn.PgConn().ExecPrepared(ctx, "", texts, nil, nil).Read())
}

// plan notes a result of EXPLAIN. Plans of the formats that are one document are one row.
func (p *peer) plan(ctx context.Context, r *pgconn.Result) error {
	if r.Err != nil {
		return p.end(ctx, r.Err)
	}
	if err := p.fields(ctx, r.FieldDescriptions); err != nil {
		return err
	}
	p.note("one row: %t, %s",
		len(r.Rows) == 1 && len(r.FieldDescriptions) == 1 && r.FieldDescriptions[0].DataTypeOID != pgtype.TextOID, r.CommandTag)
	for _, row := range r.Rows {
		if oid := r.FieldDescriptions[0].DataTypeOID; oid == pgtype.JSONOID && !json.Valid(row[0]) {
			p.note("not JSON: %s", row[0])
		}
	}
	return nil
}

// portal binds a portal and fetches from it a few rows at a time.
func (p *peer) portal(ctx context.Context, sql string, params []string) error {
	f := p.conn.PgConn().Frontend()
	texts := make([][]byte, len(params))
	for i, v := range params {
		texts[i] = []byte(v)
	}
	f.SendParse(&pgproto3.Parse{Query: sql})
	f.SendBind(&pgproto3.Bind{DestinationPortal: "p", Parameters: texts})
	f.SendDescribe(&pgproto3.Describe{ObjectType: 'P', Name: "p"})
	for range 3 {
		f.SendExecute(&pgproto3.Execute{Portal: "p", MaxRows: 2})
	}
	f.SendClose(&pgproto3.Close{ObjectType: 'P', Name: "p"})
	f.SendSync(&pgproto3.Sync{})
	if err := f.Flush(); err != nil {
		return err
	}
	var failed error
	for {
		message, err := p.conn.PgConn().ReceiveMessage(ctx)
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
			failed = refused
			continue
		}
		if err != nil {
			return err
		}
		switch m := message.(type) {
		case *pgproto3.ReadyForQuery:
			return p.end(ctx, failed)
		case *pgproto3.ErrorResponse:
			failed = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.DataRow:
			p.rows([][][]byte{m.Values}, true)
		case *pgproto3.CommandComplete:
			p.note("%s", m.CommandTag)
		case *pgproto3.NoticeResponse, *pgproto3.RowDescription, *pgproto3.BindComplete: // constants can fail at Bind or after it
		default:
			p.note("%T", m)
		}
	}
}
