// Package config reads the policy file: strict YAML, in which an unknown key, a
// wrong type, a bound that is not finite or a limit that no ledger can hold is an
// error that shows the file, the line and the line itself.
//
// It fills the types of the packages that use them; whether tables, columns and
// keys exist is checked by policy.Check, whose problems [Policy.Annotate]
// shows in the file.
//
// The file's syntax tree is walked, rather than decoded into structs, so that
// numbers keep their digits and errors their places. A line that may hold a secret
// is never shown.
package config
