package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpproxy/dp"
)

// A Cost is what a plan debits one budget, and what would remain of it.
type Cost struct {
	Scope     string
	Loss      dp.Loss
	Remaining dp.Loss
	// Fits is false when the budget does not have enough left.
	Fits bool
}

// Explain draws the plan for people: what EXPLAIN answers and what the golden
// tests hold.
func (p *Plan) Explain(costs []Cost) []string {
	w := &tree{}
	w.line(0, "plan")
	w.line(1, "unit: %s", p.unit)
	for i, b := range p.Blocks {
		w.line(1, "block %d", i+1)
		b.explain(w)
	}
	free := "no protected row is read"
	if p.Reads() {
		free = "the same was answered before"
		w.line(1, "mechanism: %s (dp.mechanism = %s, dp.epsilon = %s)", p.Mechanism, p.settings.Mechanism, dp.Decimal(p.settings.EpsilonPico, 12))
	}
	if len(costs) == 0 {
		w.line(1, "cost: nothing, %s", free)
	}
	for _, c := range costs {
		after := "would leave " + c.Remaining.String()
		if !c.Fits {
			after = "more than the " + c.Remaining.String() + " left"
		}
		w.line(1, "cost: %s of %s, %s", c.Loss, c.Scope, after)
	}
	return w.draw()
}

func (b *BlockPlan) explain(w *tree) {
	t := b.block.table
	w.line(2, "table: %s", t.name)
	w.line(2, "privacy unit: %s", b.block.unitPath())
	for _, g := range b.block.groups {
		null := ""
		if g.null {
			null = " and NULL"
		}
		w.line(2, "group by %s: %d public values%s", g.col.Name, len(g.domain), null)
	}
	if !b.block.reads() {
		w.line(2, "reads nothing: the groups are public")
		return
	}
	w.line(2, "contribution of one unit: %s", b.block.contribution())
	bars := b.Errors(nil)
	for i, o := range b.block.outputs {
		half := "± " + Number(bars[i].Least)
		if bars[i].Least < 0 {
			half = "known with the answer"
		}
		w.line(2, "%s: error at %s %%: %s%s", o.label, Number(100*(1-b.alpha)), half, b.bounds(o))
	}
	for i, m := range b.block.measures {
		w.line(2, "measure %d: %s, l0=%d linf=%d, %s", i+1, m, b.block.l0(), b.block.linf(m), b.Mechanisms[i])
	}
	w.line(2, "sql")
	for line := range strings.SplitSeq(b.SQL, "\n") {
		w.line(3, "%s", line)
	}
}

func (b *BlockPlan) bounds(o output) string {
	if col := b.block.measures[o.first].col; col != nil && o.kind != outputCount {
		return fmt.Sprintf(", values clamped to [%s, %s]", col.bounds.LowText, col.bounds.HighText)
	}
	return ""
}

func (b *block) unitPath() string {
	var s strings.Builder
	s.WriteString(b.table.name.Name)
	for _, st := range b.table.unit.steps {
		s.WriteString("." + st.from + " -> " + st.to.name.Name)
	}
	return s.String() + "." + b.table.unit.column
}

func (b *block) contribution() string {
	if b.table.oneRow {
		return "one row, by a key"
	}
	rows := fmt.Sprintf("at most %d rows a group", b.rows())
	if len(b.groups) == 0 {
		return fmt.Sprintf("at most %d rows", b.rows())
	}
	return rows + fmt.Sprintf(", at most %d groups", b.l0())
}

// String names a measure.
func (m measure) String() string {
	switch m.kind {
	case countRows:
		return "count of rows"
	case countValues:
		return "count of " + m.col.Name
	case sumValues:
		return "sum of " + m.col.Name + " in steps of " + m.lattice.step.RatString()
	case sumCentred:
		return "sum of " + m.col.Name + " around the middle of its bounds in half steps of " + m.lattice.step.RatString()
	}
	return "unknown measure"
}

// Number writes a figure for people, with four significant digits.
func Number(f float64) string {
	if f >= 1000 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}

// tree draws indented lines with branches.
type tree struct {
	depths []int
	texts  []string
}

func (t *tree) line(depth int, format string, args ...any) {
	t.depths = append(t.depths, depth)
	t.texts = append(t.texts, fmt.Sprintf(format, args...))
}

func (t *tree) draw() []string {
	lines := make([]string, len(t.texts))
	for i, text := range t.texts {
		var b strings.Builder
		for d := 1; d < t.depths[i]; d++ {
			b.WriteString(map[bool]string{true: " │  ", false: "    "}[t.goesOn(i, d)])
		}
		if t.depths[i] > 0 {
			b.WriteString(map[bool]string{true: " ├── ", false: " └── "}[t.goesOn(i, t.depths[i])])
		}
		lines[i] = b.String() + text
	}
	return lines
}

// goesOn reports whether a later line continues the branch at the depth.
func (t *tree) goesOn(i, depth int) bool {
	for _, d := range t.depths[i+1:] {
		if d == depth {
			return true
		}
		if d < depth {
			return false
		}
	}
	return false
}

// Clamped names the columns whose values are clamped, with their bounds, or
// returns "" if there is none.
func (p *Plan) Clamped() string {
	var parts []string
	for _, b := range p.Blocks {
		for _, m := range b.block.measures {
			if m.kind != sumValues && m.kind != sumCentred {
				continue
			}
			s := fmt.Sprintf("%s to [%s, %s]", m.col.Name, m.col.bounds.LowText, m.col.bounds.HighText)
			if !slices.Contains(parts, s) {
				parts = append(parts, s)
			}
		}
	}
	return strings.Join(parts, ", ")
}
