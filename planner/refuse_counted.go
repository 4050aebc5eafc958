package planner

import "dpproxy/pgerr"

// refuseCounted refuses to count private groups by the rows that are shown of them, since groups that few units have are not shown.
func (sp *specializer) refuseCounted(unit string) error {
	if len(sp.b.counts) == 0 {
		return nil
	}
	return pgerr.New(pgerr.NotAllowed, "groups of private keys cannot be counted by the rows that are shown of them").At(sp.b.counts[0]).
		WithDetail("Groups that few units (%s) have are not shown, and how many there are has no known error.", unit).
		WithHint("Count the different values of the keys: SELECT count(DISTINCT key), or of several " +
			"count(DISTINCT a::text || ' ' || b::text). A condition on an aggregate, as in HAVING count(*) > 100, " +
			"counts the groups that meet it.")
}
