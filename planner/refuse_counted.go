package planner

import "dpproxy/pgerr"

// refuseCounted refuses to count private groups by their rows, since small groups are not shown.
func (sp *specializer) refuseCounted(unit string) error {
	if len(sp.b.counts) == 0 {
		return nil
	}
	return pgerr.New(pgerr.NotAllowed, "private groups cannot be counted, listed in one value or numbered by the rows that are shown").
		At(sp.b.counts[0]).
		WithDetail("Groups that few units (%s) have are not shown, and how many there are has no known error.", unit).
		WithHint("Count the different values of the keys: SELECT count(DISTINCT key), or of several " +
			"count(DISTINCT a::text || ' ' || b::text). HAVING count(*) > 100, or another lower bound above 1, " +
			"counts the large groups. To list groups, select them as rows. " +
			"Keys with values or bounds in the policy are public, and are counted.")
}
