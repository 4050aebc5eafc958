package config

// Line is the line of a key in the policy file, such as tables, public.visits, columns, cost; lines are counted from one, and 0 says
// that the file lacks it.
func (p *Policy) Line(path ...string) int {
	if p.source == nil {
		return 0
	}
	return p.source.places[placeKey(path)].line
}
