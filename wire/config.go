package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Config says how a [Server] treats its clients. Verifier and Dial are required.
type Config struct {
	// Handler sees the statements; nil relays everything.
	Handler Handler
	// Verifier returns the stored SCRAM verifier of a user in Postgres's form
	// (see [MakeVerifier]), and whether there is such a user. It is asked when a client
	// begins to prove that they are the user, known or not; an error ends the log-in, and
	// must not depend on the user. Nor may the time that it takes.
	Verifier func(ctx context.Context, user string) (verifier string, known bool, err error)
	// Dial opens the mirror session of a client that has logged in. A
	// *pgerr.Error goes to the client; any other error is logged and the client
	// is told that the mirror cannot be reached.
	Dial func(ctx context.Context, login Login) (*pgconn.PgConn, error)
	// MockKey derives the salts that unknown users are shown. With the same key they
	// stay the same over a restart, as the salts of known users do. Empty: a random one.
	MockKey []byte
	// Iterations has the SCRAM iterations of each verifier that there is, in any order: an unknown user shows one of
	// them, so that a number that few have tells nobody from others. Empty: Postgres's default.
	Iterations []int
	// TLS is offered to clients that ask for it; nil answers no. Its ClientCAs and
	// ClientAuth say which certificates of clients are taken.
	TLS *tls.Config
	// Certificate reports whether a client that has shown this certificate, verified
	// by TLS, is the user; then no password is asked for. Nil: none is.
	Certificate func(user string, shown *x509.Certificate) bool
	// RequireTLS refuses the log-in of clients that did not ask for TLS.
	RequireTLS bool
	// Logger gets user names and outcomes, never SQL. Nil discards.
	Logger *slog.Logger
	Limits Limits
}

// Limits are the largest numbers that one server and one session may hold. A zero is replaced
// by the default.
type Limits struct {
	Connections        int           // logged-in sessions; default 200
	UserConnections    int           // sessions of one user; default as Connections
	AddressConnections int           // sessions from one address; default as Connections
	Logins             int           // connections not yet logged in; default 200
	AddressLogins      int           // of these, from one address; default 100
	FailedLogins       int           // wrong proofs, and proofs that did not come, of one user from one address in FailedTime; default 20
	FailedTime         time.Duration // default 1 min
	LoginTime          time.Duration // from accept to the end of log-in, half of it at most for one stage; default 10 s
	DialTime           time.Duration // for opening the mirror session; default 10 s
	DrainTime          time.Duration // for sessions at work when the server stops; default 30 s
	IdleTime           time.Duration // a session without a statement; default 24 h
	IdleTransaction    time.Duration // a transaction without a statement; default 1 h
	MessageBytes       int           // one message of a client; default 16 MiB
	SQLBytes           int           // the text of a Query or Parse; default 1 MiB
	Statements         int           // named statements of a session; default 5000
	Portals            int           // named portals of a session; default 1000
	Pipeline           int           // requests sent ahead of their replies; default 10000
	PrivateBytes       int           // the replies to one private query; default 64 MiB
}

// stageTime is how long a client may take for one stage of its log-in: it cannot have the whole time at one.
func (l Limits) stageTime() time.Duration { return l.LoginTime / 2 }

// defaultIterations is Postgres's own number of SCRAM iterations.
const defaultIterations = 4096

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
	number(&l.UserConnections, l.Connections)
	number(&l.AddressConnections, l.Connections)
	number(&l.Logins, 200)
	number(&l.AddressLogins, 100)
	number(&l.FailedLogins, 20)
	duration(&l.FailedTime, time.Minute)
	duration(&l.LoginTime, 10*time.Second)
	duration(&l.DialTime, 10*time.Second)
	duration(&l.DrainTime, 30*time.Second)
	duration(&l.IdleTime, 24*time.Hour)
	duration(&l.IdleTransaction, time.Hour)
	number(&l.MessageBytes, 16<<20)
	number(&l.SQLBytes, 1<<20)
	number(&l.Statements, 5000)
	number(&l.Portals, 1000)
	number(&l.Pipeline, 10000)
	number(&l.PrivateBytes, 64<<20)
	return l
}
