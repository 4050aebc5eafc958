// Package policy joins the administrator's decisions about the protected database, a [Policy], with
// the proofs of its catalogue. [Check] makes a [Model] of both: which tables are protected, how a row
// reaches its privacy unit, which columns exist for analysts, within which bounds their values lie,
// and which indexes reads may rely on. A contradiction between them is a [Problem], and no model is
// made.
//
// Every later proof about rows stands on the model: a path to the unit is one only if unique indexes
// over NOT NULL columns make each of its steps a function.
package policy
