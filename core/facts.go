package core

import (
	"cmp"
	"slices"
)

// classes partitions columns that are equal on every row, as a union-find forest: c[x] is the parent of x, and 0 or missing at a root.
type classes []Col

func (c classes) find(x Col) Col {
	for int(x) < len(c) && c[x] != 0 {
		x = c[x]
	}
	return x
}

func (c classes) same(a, b Col) bool { return c.find(a) == c.find(b) }

func (c *classes) merge(a, b Col) {
	a, b = c.find(a), c.find(b)
	if a == b {
		return
	}
	if more := int(a) + 1 - len(*c); more > 0 {
		*c = append(*c, make(classes, more)...)
	}
	(*c)[a] = b
}

// closed is facts with their consequences.
type closed struct {
	classes classes
	// identical has the classes of identical columns.
	identical classes
	// spend counts what is done with them.
	spend func(int) error
	Facts
}

// close returns the facts with all consequences.
func (f Facts) close() closed { return closed{}.and(f) }

// knowing are facts of rows with all consequences.
func (j *Judge) knowing(f Facts) closed { return closed{spend: j.Spend}.and(f) }

// few is how many numbers are looked at in a step.
const few = 8

// spent counts steps, of which one is the look at a fact, or at few words of a set. It reports whether there are too many: what follows
// further is not asked for then.
func (c *closed) spent(steps int) bool { return c.spend != nil && c.spend(1+steps) != nil }

// and returns the facts with further facts and all consequences. The facts that are given if a column is not NULL follow once it is known
// not to be; two looks at one row give identical values.
func (c closed) and(more ...Facts) closed {
	if !slices.ContainsFunc(more, c.lack) {
		return c
	}
	c = c.own()
	for _, f := range more {
		c.take(f)
	}
	for again := true; again; {
		again = false
		for c.given() {
		}
		for i, l := range c.Looks {
			if c.spent(i) {
				return c
			}
			for _, r := range c.Looks[:i] {
				again = c.looked(l, r) || again
			}
		}
	}
	return c
}

// given takes the facts of one Given whose condition is met, and reports whether there was one.
func (c *closed) given() bool {
	i := slices.IndexFunc(c.Given, func(g Given) bool { return g.If.Meets(c.Valued) })
	if c.spent(len(c.Given)) || i < 0 {
		return false
	}
	says := c.Given[i].Says
	c.Given = slices.Delete(slices.Clone(c.Given), i, i+1)
	c.take(says)
	return true
}

// lack reports whether some of the facts are not among the closed facts.
func (c *closed) lack(f Facts) bool {
	c.spent(len(f.Equal) * len(c.Equal) / few)
	return len(f.Looks)+len(f.Refers)+len(f.Given) > 0 || !f.Fixed.In(c.Fixed) || !f.Valued.In(c.Valued) ||
		slices.ContainsFunc(f.Equal, func(p Pair) bool { return !slices.Contains(c.Equal, p) })
}

// own returns a copy, whose classes and sets can be changed in place.
func (c closed) own() closed {
	c.spent((len(c.classes) + len(c.identical)) / few)
	return closed{slices.Clone(c.classes), slices.Clone(c.identical), c.spend, Facts{
		slices.Clip(c.Equal), slices.Clone(c.Fixed), slices.Clone(c.Valued),
		slices.Clip(c.Looks), slices.Clip(c.Refers), slices.Clip(c.Given),
	}}
}

// take adds facts.
func (c *closed) take(f Facts) {
	c.Fixed, c.Valued = c.Fixed.add(f.Fixed), c.Valued.add(f.Valued)
	c.Looks, c.Given, c.Refers = append(c.Looks, f.Looks...), append(c.Given, f.Given...), append(c.Refers, f.Refers...)
	for _, p := range f.Equal {
		c.equate(p)
	}
}

// equate adds a pair, and reports whether it was new.
func (c *closed) equate(p Pair) bool {
	if c.spent(len(c.Equal)/few) || slices.Contains(c.Equal, p) {
		return false
	}
	c.Equal = append(c.Equal, p)
	c.Valued = c.Valued.with(p.A).with(p.B)
	c.classes.merge(p.A, p.B)
	if p.Identical {
		c.identical.merge(p.A, p.B)
	}
	return true
}

// looked makes the values identical that two looks at one row give, and reports whether a pair was new.
func (c *closed) looked(l, r Look) (more bool) {
	if !c.sameRow(l.Key, r.Key) || c.spent(len(l.Gives)) {
		return false
	}
	if len(r.Gives) < len(l.Gives) {
		l, r = r, l
	}
	var news []Pair
	for name, a := range l.Gives {
		if b := r.Gives[name]; b != 0 && (c.Valued.Has(a) || c.Valued.Has(b)) && !c.identical.same(a, b) {
			news = append(news, Pair{min(a, b), max(a, b), true})
		}
	}
	// In the order of the columns: what is derived, and its steps, are the same each time.
	slices.SortFunc(news, func(p, q Pair) int { return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)) })
	for _, p := range news {
		more = !c.identical.same(p.A, p.B) && c.equate(p) || more
	}
	return more
}

// sameRow reports whether two keys identify the same row.
func (c *closed) sameRow(a, b Key) bool {
	if a.Of != b.Of {
		return false
	}
	for i := range a.Cols {
		if !c.classes.same(a.Cols[i], b.Cols[i]) || !c.Valued.Has(a.Cols[i]) {
			return false
		}
	}
	return true
}

// deps returns the dependencies that follow from the facts directly.
func (c *closed) deps() (list []Dep) {
	for _, p := range c.Equal {
		if p.Identical {
			list = append(list, Dep{Of(p.A), Of(p.B)}, Dep{Of(p.B), Of(p.A)})
		}
	}
	return append(list, Dep{nil, c.Fixed})
}
