package wire

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Config says how a [Server] treats its clients. Verifier and Dial are required.
type Config struct {
	// Handler sees the statements; nil relays everything.
	Handler Handler
	// Verifier returns the stored SCRAM verifier of a user in Postgres's form
	// (see [MakeVerifier]), and whether there is such a user.
	Verifier func(user string) (verifier string, known bool)
	// Dial opens the mirror session of a client that has logged in. A
	// *pgerr.Error goes to the client; any other error is logged and the client
	// is told that the mirror cannot be reached.
	Dial func(ctx context.Context, login Login) (*pgconn.PgConn, error)
	// TLS is offered to clients that ask for it; nil answers no.
	TLS *tls.Config
	// RequireTLS refuses the log-in of clients that did not ask for TLS.
	RequireTLS bool
	// Logger gets user names and outcomes, never SQL. Nil discards.
	Logger *slog.Logger
	Limits Limits
}

// Login is what a client said of itself at start-up, proved by its password.
type Login struct {
	User     string
	Database string            // as the client asked; the user's name if it did not
	Params   map[string]string // settings for the session's start, allowed ones only
}

// Limits bound what one server and one session may hold. A zero is replaced by
// the default.
type Limits struct {
	Connections   int           // logged-in sessions; default 200
	Logins        int           // connections not yet logged in; default 100
	LoginTime     time.Duration // from accept to the end of log-in; default 10 s
	DialTime      time.Duration // for opening the mirror session; default 10 s
	DrainTime     time.Duration // for sessions at work when the server stops; default 30 s
	MessageBytes  int           // one message of a client; default 16 MiB
	SQLBytes      int           // the text of a Query or Parse; default 1 MiB
	Statements    int           // named statements of a session; default 5000
	Portals       int           // named portals of a session; default 1000
	Pipeline      int           // requests sent ahead of their replies; default 10000
	PrivateBytes  int           // the replies to one private query; default 64 MiB
	FakeIteration int           // SCRAM iterations shown for unknown users; default 4096
}

func (l Limits) withDefaults() Limits {
	number := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	duration := func(n *time.Duration, d time.Duration) {
		if *n <= 0 {
			*n = d
		}
	}
	number(&l.Connections, 200)
	number(&l.Logins, 100)
	duration(&l.LoginTime, 10*time.Second)
	duration(&l.DialTime, 10*time.Second)
	duration(&l.DrainTime, 30*time.Second)
	number(&l.MessageBytes, 16<<20)
	number(&l.SQLBytes, 1<<20)
	number(&l.Statements, 5000)
	number(&l.Portals, 1000)
	number(&l.Pipeline, 10000)
	number(&l.PrivateBytes, 64<<20)
	number(&l.FakeIteration, defaultIterations)
	return l
}
