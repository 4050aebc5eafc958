// Package plannertest holds the world of the planner's tests: two databases with their
// policies, and a Postgres to ask (tests only).
//
// In the clinic patients have one row each, visits many, and labs belong to a patient by way of a
// visit; hospitals are public. Events have values that are equal and look different.
package plannertest
