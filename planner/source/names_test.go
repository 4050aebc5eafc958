package source_test

import "dpproxy/planner/plannertest"

// Names of the shared databases, short since tests are full of them.
var (
	bigint      = plannertest.Bigint
	boolean     = plannertest.Boolean
	bounds      = plannertest.Bounds
	checkedBy   = plannertest.CheckedBy
	column      = plannertest.Column
	connectTo   = plannertest.ConnectTo
	databaseOf  = plannertest.DatabaseOf
	date        = plannertest.Date
	emptyServer = plannertest.EmptyServer
	eventTables = plannertest.EventTables
	events      = plannertest.Events
	float8      = plannertest.Float8
	int4        = plannertest.Int4
	jsonb       = plannertest.Jsonb
	literal     = plannertest.Literal
	name        = plannertest.Name
	numeric     = plannertest.Numeric
	numeric10   = plannertest.Numeric10
	texts       = plannertest.Texts
	numerics    = plannertest.Numerics
	refusal     = plannertest.Refusal
	run         = plannertest.Run
	settled     = plannertest.Settled
	text        = plannertest.Text
	varchar10   = plannertest.Varchar10
)
