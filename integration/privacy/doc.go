// Package privacy holds the tests of all that answers give away: the law of their noise, the
// moments at which they come, columns and definitions that are not shown, answers remembered.
package privacy
