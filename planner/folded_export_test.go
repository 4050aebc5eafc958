package planner

// ColumnOf says how values of a type are told apart.
var ColumnOf = columnOf
