// Package property holds no code: its tests let random statements over random
// databases meet the planner and a real Postgres. They want that no unit changes what is
// read by more than the plan declares, that what is read does not depend on how Postgres
// reads it, that nothing raises, and that answers without noise are those of Postgres.
package property
