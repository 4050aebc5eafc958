// Package property holds no code: its tests let random statements over random
// databases meet the planner and a real Postgres. They want that no unit changes an
// exact aggregate by more than the plan declares, that aggregates do not depend on how Postgres
// reads them, that no part of a plan has much more to do for one unit, that nothing raises, and that
// answers without noise are Postgres's own. At limits, those of the demonstration are those that another program has
// computed.
package property
