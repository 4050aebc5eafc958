package sqltext

import (
	"slices"
	"strings"
)

// Lines breaks a statement that is printed in one line into several lines for people. A line that is too long breaks before clauses, joins
// and conditions and after commas. Quoted text stays as it is.
func Lines(sql string) string {
	l := &liner{sql: sql}
	l.scan()
	return l.print()
}

// lineWidth is how long a line may be if it can be broken.
const lineWidth = 105

// A group is text that is broken at all of its places, if it is too long for a line.
type group uint8

const (
	brackets group = iota // between parentheses
	query                 // likewise, of a SELECT
	cases                 // between CASE and END
	from                  // a FROM clause
	clause                // another clause, or a branch of CASE
	element               // between commas, or the condition of a join
	term                  // between AND, OR and THEN
)

// A place is a point of the text at which a group begins or ends, or a line may end.
type place struct {
	at   int // in the text
	kind placeKind
	// For the beginning of a group:
	group  group
	breaks bool // the group has places at which a line may end
	end    int  // the index of the place at which it ends
}

type placeKind uint8

const (
	begins placeKind = iota
	ends
	breaks  // at a blank
	returns // likewise, and the next line is indented as the group around is
)

// A liner breaks one statement.
type liner struct {
	sql    string
	places []place
	around []int  // the places of the beginnings of groups that have not ended
	last   string // the keyword before
}

// scan finds the places.
func (l *liner) scan() {
	l.begin(0, brackets)
	l.element(0)
	for i := 0; i < len(l.sql); i++ {
		switch c := l.sql[i]; {
		case c == '\'' || c == '"': // a doubled quote ends one text and begins the next
			i += 1 + strings.IndexByte(l.sql[i+1:], c)
		case c == '(':
			l.begin(i+1, brackets)
			l.element(i + 1)
		case c == ')':
			if l.leave(i, cases); len(l.around) > 1 {
				l.end(i)
			}
		case c == ',':
			l.leave(i, element)
			l.mayBreak(i+1, breaks)
			l.element(i + 2)
		case strings.IndexByte("+-*/|", c) >= 0:
			l.mayBreak(i-1, breaks)
		case isLetter(c):
			end := i + 1
			for end < len(l.sql) && (isLetter(l.sql[end]) || l.sql[end] >= '0' && l.sql[end] <= '9') {
				end++
			}
			l.word(l.sql[i:end], i)
			i = end - 1
		}
	}
	for len(l.around) > 0 {
		l.end(len(l.sql))
	}
}

// element begins a group that ends at the next comma.
func (l *liner) element(at int) {
	l.begin(at, element)
	l.begin(at, term)
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '.' || c == '$'
}

// put adds a place. Places are in the order of the text.
func (l *liner) put(p place) {
	if n := len(l.places); n > 0 {
		p.at = max(p.at, l.places[n-1].at)
	}
	l.places = append(l.places, p)
}

func (l *liner) begin(at int, g group) {
	l.around = append(l.around, len(l.places))
	l.put(place{at: min(at, len(l.sql)), kind: begins, group: g})
}

// end ends the innermost group.
func (l *liner) end(at int) {
	n := len(l.around) - 1
	l.places[l.around[n]].end = len(l.places)
	l.around = l.around[:n]
	l.put(place{at: at, kind: ends})
}

// inside returns the innermost group.
func (l *liner) inside() *place { return &l.places[l.around[len(l.around)-1]] }

// leave ends the groups of a kind, and the groups inside them.
func (l *liner) leave(at int, g group) {
	for l.inside().group >= g {
		l.end(at)
	}
}

// mayBreak notes that a line of the innermost group may end at a blank.
func (l *liner) mayBreak(at int, kind placeKind) {
	if at > 0 && at < len(l.sql) && l.sql[at] == ' ' && at >= l.places[len(l.places)-1].at {
		l.inside().breaks = true
		l.put(place{at: at, kind: kind})
	}
}

// word marks places at keywords.
func (l *liner) word(w string, at int) {
	before, behind := at-1, at+len(w)
	switch w {
	case "CASE":
		l.begin(behind, cases)
	case "WHEN", "ELSE":
		l.leave(before, from)
		l.mayBreak(before, breaks)
		l.begin(behind, clause)
		l.begin(behind, term)
	case "END":
		if l.leave(before, from); l.inside().group == cases {
			l.mayBreak(before, returns)
			l.end(at)
		}
	case "THEN", "AND", "OR":
		l.leave(before, term)
		l.mayBreak(before, breaks)
		l.begin(behind, term)
	case "OPERATOR":
		l.mayBreak(before, breaks)
	case "ON":
		l.element(behind)
	case "JOIN", "LEFT", "FULL", "CROSS":
		if l.last != "LEFT" && l.last != "FULL" && l.last != "CROSS" {
			l.leave(before, clause)
			l.mayBreak(before, breaks)
		}
	case "FROM", "WHERE", "GROUP", "HAVING", "UNION", "LIMIT", "OFFSET":
		if l.inQuery() && l.last != "DISTINCT" {
			l.clause(w, before, behind)
		}
	case "SELECT", "ORDER":
		l.clause(w, before, behind)
	}
	l.last = w
}

// inQuery reports whether the innermost parentheses have a SELECT.
func (l *liner) inQuery() bool {
	for _, i := range slices.Backward(l.around) {
		if g := l.places[i].group; g <= query {
			return g == query
		}
	}
	return false
}

// clause begins a clause.
func (l *liner) clause(w string, before, behind int) {
	l.leave(before, cases)
	l.mayBreak(before, breaks)
	g := clause
	switch w {
	case "SELECT":
		l.inside().group = query
	case "FROM":
		g = from
	}
	l.begin(behind, g)
	l.element(behind)
}

// A pen writes the text with its lines.
type pen struct {
	sql     string
	out     strings.Builder
	written int // of sql
	column  int
	level
	outer []level
}

// A level is how a group is written.
type level struct {
	indent int
	broken bool
	// framed says that its first and last lines are lines of their own.
	framed bool
}

func (l *liner) print() string {
	p := &pen{sql: l.sql}
	for i := 0; i < len(l.places); i++ {
		at := &l.places[i]
		p.write(at.at)
		switch at.kind {
		case begins:
			if end := l.places[at.end].at; p.column+end-at.at <= lineWidth {
				i = at.end // nothing in it is broken
			} else {
				p.begin(at)
			}
		case ends:
			p.end()
		case breaks:
			p.breakTo(p.indent)
		case returns:
			p.breakTo(p.outer[len(p.outer)-1].indent)
		}
	}
	p.write(len(l.sql))
	return p.out.String()
}

func (p *pen) write(to int) {
	p.out.WriteString(p.sql[p.written:to])
	p.column, p.written = p.column+to-p.written, to
}

func (p *pen) line(indent int) {
	p.out.WriteString("\n" + strings.Repeat(" ", indent))
	p.column = indent
}

func (p *pen) begin(at *place) {
	p.outer = append(p.outer, p.level)
	p.broken, p.framed = at.breaks, false
	if !at.breaks || at.at == 0 {
		return
	}
	p.indent += 2
	if at.group <= query {
		p.framed = true
		p.line(p.indent)
	}
}

func (p *pen) end() {
	framed := p.framed
	p.level = p.outer[len(p.outer)-1]
	p.outer = p.outer[:len(p.outer)-1]
	if framed {
		p.line(p.indent)
	}
}

// breakTo replaces a blank.
func (p *pen) breakTo(indent int) {
	if p.broken {
		p.written++
		p.line(indent)
	}
}
