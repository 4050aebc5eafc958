package reader

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgproto3"
)

// requests are messages to the protected database that are sent in one piece. A pipeline of pgconn cannot bind a portal without executing
// it.
type requests []pgproto3.FrontendMessage

// runPrepared adds a prepared statement, with parameters as text.
func (r *requests) runPrepared(name string, params ...[]byte) {
	*r = append(*r, &pgproto3.Bind{PreparedStatement: name, Parameters: params}, &pgproto3.Execute{})
}

// prepare adds the preparation of a statement, which replaces a statement of the same name.
func (r *requests) prepare(name, sql string) {
	*r = append(*r, &pgproto3.Close{ObjectType: 'S', Name: name}, &pgproto3.Parse{Name: name, Query: sql})
}

// bind adds a prepared statement that is planned and bound to a portal, but not executed. Without formats its results are texts.
func (r *requests) bind(portal, name string, params [][]byte, formats, results []int16) {
	*r = append(*r, &pgproto3.Bind{
		DestinationPortal: portal, PreparedStatement: name, Parameters: params, ParameterFormatCodes: formats, ResultFormatCodes: results,
	})
}

// flush asks for the replies to the messages so far before the rest is done.
func (r *requests) flush() { *r = append(*r, &pgproto3.Flush{}) }

// executions counts the statements that are executed so far.
func (r *requests) executions() (n int) {
	for _, m := range *r {
		if _, ok := m.(*pgproto3.Execute); ok {
			n++
		}
	}
	return n
}

// execute adds the execution of a portal.
func (r *requests) execute(portal string) { *r = append(*r, &pgproto3.Execute{Portal: portal}) }

// closePortal adds the end of a portal.
func (r *requests) closePortal(portal string) {
	*r = append(*r, &pgproto3.Close{ObjectType: 'P', Name: portal})
}

// A taker takes the rows of one execution.
type taker struct {
	// take takes a row, which is valid until the next row comes. If take is nil, the rows are returned.
	take func(row [][]byte) error
	// end is called after the last row, unless it is nil.
	end func() error
}

// exchange sends requests and returns the rows of each execution, in order. With an error, it returns the rows of the executions before.
// Takers take the rows of the first executions instead, as they come. If a taker fails, the rest of the exchange is read and dropped. When
// ctx ends, exchange returns at once, and the session is out of step. It calls alive when a first result has come, unless alive is nil.
func (r *requests) exchange(ctx context.Context, conn *pgconn.PgConn, alive func(), takes ...taker) ([][][][]byte, error) {
	watcher := ctxwatch.NewContextWatcher(&pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()})
	watcher.Watch(ctx)
	defer watcher.Unwatch()
	frontend := conn.Frontend()
	for _, m := range *r {
		frontend.Send(m)
	}
	frontend.Send(&pgproto3.Sync{})
	if err := frontend.Flush(); err != nil {
		return nil, lastWords(conn, err) //nolint:contextcheck // the watcher ends its reads with ctx
	}
	return replies(conn, alive, takes) //nolint:contextcheck // the watcher ends its reads with ctx
}

// lastWords returns the error of a session that takes no more requests: the error with which the server ended it, if the server sent one.
func lastWords(conn *pgconn.PgConn, broken error) error {
	var said *pgconn.PgError
	if _, err := replies(conn, nil, nil); errors.As(err, &said) {
		return said
	}
	return lost(broken)
}

// replies reads up to the end of an exchange, or of the session. If the server ends the session at once, it says why in a warning.
func replies(conn *pgconn.PgConn, alive func(), takes []taker) (results [][][][]byte, failed error) {
	var rows [][][]byte
	var warning *pgconn.PgError
	for {
		message, err := conn.ReceiveMessage(context.Background())
		if err != nil {
			switch {
			case failed != nil:
			case warning != nil:
				failed = warning
			default:
				failed = lost(err)
			}
			return results, failed
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			switch to := nth(takes, len(results)); {
			case failed != nil:
			case to.take != nil:
				failed = to.take(m.Values)
			default:
				rows = append(rows, copied(m.Values))
			}
		case *pgproto3.CommandComplete:
			if to := nth(takes, len(results)); failed == nil && to.end != nil {
				failed = to.end()
			}
			results, rows = append(results, rows), nil
			if len(results) == 1 && alive != nil {
				alive()
			}
		case *pgproto3.ErrorResponse:
			failed = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.NoticeResponse:
			if ended(m.Code) {
				notice := pgproto3.ErrorResponse(*m)
				warning = pgconn.ErrorResponseToPgError(&notice)
			}
		case *pgproto3.ReadyForQuery:
			return results, failed
		}
	}
}

// nth returns the taker of an execution.
func nth(takes []taker, n int) taker {
	if n < len(takes) {
		return takes[n]
	}
	return taker{}
}

// copied copies the values of a row, whose memory the next message uses.
func copied(values [][]byte) [][]byte {
	size := 0
	for _, v := range values {
		size += len(v)
	}
	all, out := make([]byte, 0, size), make([][]byte, len(values))
	for i, v := range values {
		if v != nil {
			all = append(all, v...)
			out[i] = all[len(all)-len(v) : len(all) : len(all)]
		}
	}
	return out
}
