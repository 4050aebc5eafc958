// Package privacy holds the tests of what answers give away: the law of their noise, the
// moments at which they come, columns and definitions that are not shown, answers remembered.
package privacy
