// Package wiretest plays written conversations with servers that speak the Postgres
// protocol, so that dpproxy's replies can be held against Postgres's.
//
// A conversation is a datadriven file, "name.wire", which is one session. A talk
// block lists the client's messages, one to a line; all of them are sent at once, and
// below the line stands every message that comes back, up to the last ReadyForQuery
// that is due (one for each Query, Sync and FunctionCall, or ready=n). "-" is the
// unnamed statement or portal.
//
//	Query <sql>                         Parse <name> <sql>
//	Bind <portal> <name> <parameters>   DescribeStatement, DescribePortal <name>
//	Execute <portal> <rows>             CloseStatement, ClosePortal <name>
//	Sync, Flush, FunctionCall           CopyData <text>, CopyDone, CopyFail <text>
//
// In a Bind \N is NULL, \x... a binary parameter, and a last word "binary" asks for
// binary results. "talk differs" marks where dpproxy differs from Postgres: the
// comment above says why, and both answers stand below.
package wiretest
