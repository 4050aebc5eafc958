package config

// Line is the line of a key in the policy file, such as tables, public.visits, columns, cost; lines are counted from one, and 0 says
// that the file lacks it.
func (p *Policy) Line(path ...string) int {
	if p.source == nil {
		return 0
	}
	return p.source.places[placeKey(path)].line
}

// Brace is where the { of a mapping that stands in {...} is; line and column, in characters, are counted from one, and 0 says that the
// mapping has lines of its own, or that the file lacks it.
func (p *Policy) Brace(path ...string) (line, column int) {
	if p.source == nil {
		return 0, 0
	}
	at := p.source.braces[placeKey(path)].from
	return at.line, at.column
}

// GoesOn reports whether a line goes on with what stands in {...} or [...] and began on a line before.
func (p *Policy) GoesOn(line int) bool {
	if p.source != nil {
		for _, b := range p.source.braces {
			if b.from.line < line && line <= b.to.line {
				return true
			}
		}
	}
	return false
}
