// Package site has a policy with its secret, and all that both reach: the protected database, the mirror and the server of the
// ledger's marks, with their passwords. It holds the policy against the catalogue of the protected database, says by which plan the
// mirror is made, and makes it.
//
// [Open] reads the policy and its secret. A command that needs no secret makes a [Site] of the policy alone.
package site
