package policy_test

import "dpproxy/planner/plannertest"

// Names of the shared databases, short since tests are full of them.
var (
	bounds       = plannertest.Bounds
	builtin      = plannertest.Builtin
	clinicPolicy = plannertest.ClinicPolicy
	clinicSchema = plannertest.ClinicSchema
	column       = plannertest.Column
	date         = plannertest.Date
	hiddenClinic = plannertest.HiddenClinic
	int4         = plannertest.Int4
	name         = plannertest.Name
	numeric10    = plannertest.Numeric10
	references   = plannertest.References
	text         = plannertest.Text
	values       = plannertest.Values
)
