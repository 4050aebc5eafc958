package planner_test

import "dpproxy/planner/plannertest"

// Names of the shared databases, short since tests are full of them.
var (
	bigint        = plannertest.Bigint
	builtin       = plannertest.Builtin
	checked       = plannertest.Checked
	checkedBy     = plannertest.CheckedBy
	clinic        = plannertest.Clinic
	clinicPolicy  = plannertest.ClinicPolicy
	clinicSchema  = plannertest.ClinicSchema
	column        = plannertest.Column
	connectTo     = plannertest.ConnectTo
	databaseOf    = plannertest.DatabaseOf
	date          = plannertest.Date
	emptyServer   = plannertest.EmptyServer
	eventTables   = plannertest.EventTables
	events        = plannertest.Events
	hiddenClinic  = plannertest.HiddenClinic
	indexedClinic = plannertest.IndexedClinic
	int4          = plannertest.Int4
	name          = plannertest.Name
	numeric       = plannertest.Numeric
	numeric10     = plannertest.Numeric10
	primary       = plannertest.Primary
	refusal       = plannertest.Refusal
	run           = plannertest.Run
	settled       = plannertest.Settled
	tags          = plannertest.Tags
	text          = plannertest.Text
)
