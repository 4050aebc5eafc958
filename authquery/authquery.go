// Package authquery asks a Postgres for the SCRAM verifiers of analysts, by a query of the
// administrator's. It knows neither who the analysts are nor how a verifier is used.
package authquery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// Deadline is how long one question may take, with the wait for a connection.
	Deadline = 3 * time.Second
	// connections of log-ins are few: a question is a look at one row.
	connections = 4
)

// A Query returns the verifier of the role $1, and if it likes the time until which it is
// valid. Nothing that it returned is kept: a change in the database holds from the next
// log-in on.
type Query struct {
	sql           string
	logins, apart *pgxpool.Pool
}

// Open returns the query that sql is on the database of cfg. It connects when it is asked:
// with four connections for log-ins, and one for checks that they must not hold up.
//
// Sessions read only, find nothing but pg_catalog without a schema, and give up when
// [Deadline] is over.
func Open(ctx context.Context, cfg *pgxpool.Config, sql string) (*Query, error) {
	q := &Query{sql: sql}
	cfg.MaxConns = connections
	cfg.ConnConfig.ConnectTimeout = Deadline
	params := cfg.ConnConfig.RuntimeParams
	params["application_name"] = "dpproxy"
	params["search_path"] = "pg_catalog"
	params["client_encoding"] = "UTF8"
	params["default_transaction_read_only"] = "on"
	params["statement_timeout"] = strconv.FormatInt(Deadline.Milliseconds(), 10)
	// A session that died while it was idle must not fail a log-in.
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return true }
	cfg.AfterConnect = q.describe
	var err error
	if q.logins, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, err
	}
	one := cfg.Copy()
	one.MaxConns = 1
	if q.apart, err = pgxpool.NewWithConfig(ctx, one); err != nil {
		q.logins.Close()
		return nil, err
	}
	return q, nil
}

// Close ends the connections.
func (q *Query) Close() {
	q.logins.Close()
	q.apart.Close()
}

// A FormError is a fault of the query itself.
type FormError struct{ Reason string }

// Error returns the reason.
func (e *FormError) Error() string { return e.Reason }

// Check reports whether the database can be reached and takes the query: a [*FormError] if
// it does not. It does not wait for log-ins.
func (q *Query) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	return q.apart.Ping(ctx)
}

// texts are the types that a role's name and a verifier may have.
var texts = []uint32{pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID}

// describe checks the query's parameters and columns.
func (q *Query) describe(ctx context.Context, conn *pgx.Conn) error {
	d, err := conn.Prepare(ctx, "", q.sql)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && !unavailable(refused) {
		return &FormError{"Postgres refuses the query: " + refused.Message + " (" + refused.Code + ")"}
	}
	if err != nil {
		return err
	}
	types := make([]uint32, len(d.Fields))
	for i, f := range d.Fields {
		types[i] = f.DataTypeOID
	}
	switch {
	case len(d.ParamOIDs) != 1 || !slices.Contains(texts, d.ParamOIDs[0]):
		return &FormError{"the query takes one parameter $1, a text: write $1::text where it could be something else"}
	case len(types) == 0 || !slices.Contains(texts, types[0]):
		return &FormError{"the first column must be the verifier, a text"}
	case len(types) == 2 && types[1] != pgtype.TimestamptzOID:
		return &FormError{"the second column must be the time until which the password is valid, a timestamptz"}
	case len(types) > 2:
		return &FormError{"the query returns one column or two: the verifier, and the time until which it is valid"}
	}
	return nil
}

// Verifier returns, for a log-in, the query's verifier of a role: empty if it has no row or
// several, NULL, or a verifier that is valid no more. An error says that the database could not
// be asked, whatever the role, or a [*FormError] that it does not take the query any more;
// where it refuses to answer for the role, there is no verifier, and the reason says why.
func (q *Query) Verifier(ctx context.Context, role string) (verifier, reason string, err error) {
	return q.verifier(ctx, q.logins, role)
}

// VerifierApart is Verifier for whoever administers dpproxy: it does not wait for log-ins.
func (q *Query) VerifierApart(ctx context.Context, role string) (verifier, reason string, err error) {
	return q.verifier(ctx, q.apart, role)
}

func (q *Query) verifier(ctx context.Context, pool *pgxpool.Pool, role string) (verifier, reason string, err error) {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return "", "", fmt.Errorf("authquery: %w", err)
	}
	defer conn.Release()
	rows, now, err := ask(ctx, conn.Conn(), q.sql, role)
	if err != nil {
		// A statement that was prepared may not fit any more.
		_ = conn.Conn().Close(context.WithoutCancel(ctx))
		refused, ok := errors.AsType[*pgconn.PgError](err)
		switch {
		case !ok:
			return "", "", fmt.Errorf("authquery: %w", err)
		case unavailable(refused):
			return "", "", errors.New("authquery: " + refusal(refused))
		case misfit(refused):
			return "", "", &FormError{refusal(refused)}
		}
		return "", refusal(refused), nil
	}
	verifier, reason = usable(rows, now)
	return verifier, reason, nil
}

// found is a row of the query.
type found struct {
	verifier *string
	until    pgtype.Timestamptz
}

// ask runs the query, and asks the database for its time.
func ask(ctx context.Context, conn *pgx.Conn, sql, role string) (rows []found, now time.Time, err error) {
	var b pgx.Batch
	b.Queue(sql, role).Query(func(r pgx.Rows) (failed error) {
		rows, failed = pgx.CollectRows(r, readRow)
		return failed
	})
	b.Queue("SELECT pg_catalog.clock_timestamp()").QueryRow(func(r pgx.Row) error { return r.Scan(&now) })
	err = conn.SendBatch(ctx, &b).Close()
	return rows, now, err
}

func readRow(r pgx.CollectableRow) (f found, err error) {
	into := []any{&f.verifier, &f.until}
	return f, r.Scan(into[:len(r.FieldDescriptions())]...)
}

// usable returns the verifier of the only row, if it is valid, or why there is none.
func usable(rows []found, now time.Time) (verifier, reason string) {
	switch {
	case len(rows) != 1:
		return "", fmt.Sprintf("the query returns %d rows", len(rows))
	case rows[0].verifier == nil || *rows[0].verifier == "":
		return "", "the query returns no password"
	}
	u := rows[0].until
	ended := u.InfinityModifier == pgtype.NegativeInfinity || u.InfinityModifier == pgtype.Finite && !now.Before(u.Time)
	if u.Valid && ended {
		return "", "the password has expired"
	}
	return *rows[0].verifier, ""
}

// unavailable reports whether Postgres could not answer at all, whatever was asked: its class
// is one of connections, resources, shutdown, timeouts and failures of the system.
func unavailable(e *pgconn.PgError) bool { return ofClass(e, "08", "53", "57", "58", "XX") }

// misfit reports whether Postgres does not take the query, whatever was asked: a function that
// was dropped, a right that was taken away, a statement that was prepared for other columns.
func misfit(e *pgconn.PgError) bool { return ofClass(e, "0A", "26", "3F", "42") }

func ofClass(e *pgconn.PgError, classes ...string) bool {
	return slices.ContainsFunc(classes, func(class string) bool { return strings.HasPrefix(e.Code, class) })
}

// refusal says that Postgres refused the query, without its message, which a function may
// have made of the rows that it read.
func refusal(e *pgconn.PgError) string { return "Postgres refused the query with SQLSTATE " + e.Code }
