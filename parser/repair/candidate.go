package repair

import "strings"

// A Candidate is a statement in the place of a refused one. It is made of the client's own text, and of the names of tables and columns.
type Candidate struct {
	// Before are statements that must run first, each with a semicolon, and SQL is the statement.
	Before, SQL string

	rule string
	bought
}

// A bought is the bounds that the statements before make.
type bought struct {
	made    map[string]string // constants for the texts that read them
	bounded map[string]bool   // the columns that have them, by key
}

// String returns all that is to be run.
func (c Candidate) String() string { return c.Before + c.SQL }

// Rehearsal returns the statement with constants for all that the statements before it make, at the same places. It is planned as the
// statement will be: whether something has bounds does not depend on what these are.
func (c Candidate) Rehearsal() string {
	sql := c.SQL
	for made, example := range c.made {
		sql = strings.ReplaceAll(sql, made, example+strings.Repeat(" ", max(len(made)-len(example), 0)))
	}
	return sql
}

// Spending returns the candidate with what each suggestion of bounds may spend.
func (c Candidate) Spending(epsilon string) Candidate {
	c.Before = strings.ReplaceAll(c.Before, spending+suggestedEpsilon+")", spending+epsilon+")")
	return c
}
