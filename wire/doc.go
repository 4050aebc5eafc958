// Package wire is the server side of the Postgres protocol: start-up, TLS, SCRAM
// log-in, cancel requests, and a relay. It knows no SQL and no privacy.
//
// # A session
//
// After log-in every client session is a session of its own on a mirror, an
// ordinary Postgres. Two goroutines copy messages: requests from the client to
// the mirror, replies from the mirror to the client. The mirror's answers,
// its errors, its transaction state and its rule of skipping to the next Sync,
// reach the client as they are. The two share a pipeline, the queue of the replies
// that the mirror owes, each with its treatment when it comes.
//
// Inside, a relay has one type for each direction and for each that comes between:
// requests (with the runner of intercepted statements), replies, questions (asked by an
// [Asker]) and canceler. Fields of one are its goroutine's own, unless they are locked or
// atomic. A handler sees of all that the [Session] and the Asker.
//
// # Interception
//
// A [Handler] looks at the text of each Query and Parse message. A statement
// that it claims is not run as it is: when it would run (a Query, or a Bind of
// the prepared statement), [Statement.Run] is called, may ask the mirror private
// questions inside the client's own transaction ([Asker]), and says which text
// runs instead ([Rewrite]). The client's portal is then bound to that text, so
// that row limits, suspended portals and Describe stay Postgres's own.
//
// A refusal is raised in the mirror session too, by a function dp.raise(text)
// that fails with SQLSTATE PB000; its ErrorResponse is replaced by the refusal.
// The mirror's schema must have that function, declared IMMUTABLE so that it
// fails when the statement is planned.
//
// # Connecting securely
//
// Without [Config.TLS] a password proof travels in the clear, though never a
// password. Set it, and set [Config.RequireTLS], wherever the listener is not
// local. Log-in is SCRAM-SHA-256, with channel binding under TLS, or a client's
// certificate; only verifiers are stored ([MakeVerifier]). A user who does not exist is
// refused as one whose password is wrong, after as long a conversation.
//
// # Admission
//
// Until a client has logged in, its connection is in the lobby (lobby.go) and takes no session's place. Sessions are counted
// by user and by address (admission.go), and failed log-ins by user and address together (attempts.go), so that nobody can
// keep others out.
//
// # Protocol
//
// Protocol 3.0 and 3.2; newer versions are negotiated down. TLS may begin at once
// (ALPN "postgresql") or after an SSLRequest. GSSAPI, replication, COPY FROM STDIN and
// function calls are refused, and the session goes on. A notification reaches the
// sessions of the user who sent it. All that a client can make grow has a limit
// ([Limits]); where a peer does not read, the other one waits.
package wire
