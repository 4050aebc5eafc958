package scalar

import (
	"math/big"
	"slices"
	"strings"
	"time"

	"dpproxy/planner/pgtype"
)

// Enumerate lists the values that an expression can have in rows for which all conditions are true, as far as bounds imply them: canonical
// texts (KeyText), in their order, and whether NULL is possible. It is a function of the policy and of constants. ok is false if there may
// be more than most values.
func (env *Env) Enumerate(e Expr, where []Expr, most int) (texts []string, null, ok bool) {
	in := env.narrowedToList(e, where)
	list := &enumeration{env: env, most: most, columns: map[*Column]enumerated{}}
	if texts, ok = list.values(e, in, where); ok {
		texts = possible(env, e, texts, where)
	}
	return texts, in.Null, ok && len(texts) <= most
}

// An enumeration lists at most most values of an expression, and the values of each column once.
type enumeration struct {
	env     *Env
	most    int
	columns map[*Column]enumerated
}

func (n *enumeration) values(e Expr, in Interval, where []Expr) ([]string, bool) {
	if b, ok := e.(*bounded); ok {
		e = b.x
	}
	if _, computed := e.(*call); !computed && e.Type().Zoned() { // the keys of date_trunc are local times
		return nil, false
	}
	switch x := e.(type) { //nolint:gochecksumtype // the bounds of the others decide
	case *constant:
		return n.single(x)
	case *choice:
		switch x.kind {
		case caseWhen, coalesce:
			return n.union(x.results, where)
		case nullIf:
			return n.values(x.results[0], in, where)
		case greatest, least:
		}
	case *Ref:
		b := x.Column.Base()
		switch {
		case n.env.undeclared[b]:
			return nil, false
		case b.Values != nil:
			return spellings(b.Type, b.Values), true
		case len(b.Of) > 0 && b.Type.Family() != pgtype.InstantFamily:
			if texts, ok := n.columnValues(b); ok {
				return numbersWithin(texts, b.Type, in), true
			}
		}
	case *aggregate:
		if x.picks() {
			return n.values(x.x, n.env.interval(x.x), nil)
		}
		if accumulates(x) {
			return listed(e, in, n.integral(e), min(n.most, mostCounted))
		}
	case *call:
		if x.fn.name == "date_trunc" {
			return n.truncated(x, where)
		}
		if x.fn.over == bins {
			return n.binned(x, n.env.narrowedToList(x.args[1], where))
		}
		if texts, ok := n.tens(x, in); ok {
			return texts, true
		}
		if texts, ok := n.stepped(x, in, where); ok {
			return texts, true
		}
	case *cast:
		if texts, ok := n.firstDays(x, where); ok {
			return texts, true
		}
	}
	return listed(e, in, n.integral(e), n.most)
}

// columnValues returns the values of a column of a derived table, which it caches: there can be many references.
func (n *enumeration) columnValues(c *Column) ([]string, bool) {
	v, known := n.columns[c]
	if !known {
		v.texts, v.ok = n.union(c.Of, nil)
		n.columns[c] = v
	}
	return v.texts, v.ok
}

// numbersWithin removes the numbers outside an interval.
func numbersWithin(texts []string, t pgtype.Type, in Interval) []string {
	if !t.Number() {
		return texts
	}
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
		x, ok := new(big.Rat).SetString(text)
		return ok && (in.Low != nil && x.Cmp(in.Low) < 0 || in.High != nil && x.Cmp(in.High) > 0)
	})
}

// enumerated are the values of a column; ok is false if they cannot be listed.
type enumerated struct {
	texts []string
	ok    bool
}

// stepped lists the values of a sum, difference or product of a constant and an exact number that can be listed. So the values of floor(x /
// 12.5) * 12.5 are the lower ends of the bins, not all whole numbers in between.
func (n *enumeration) stepped(c *call, in Interval, where []Expr) ([]string, bool) {
	apply := map[string]func(z, x, y *big.Rat) *big.Rat{"+": (*big.Rat).Add, "-": (*big.Rat).Sub, "*": (*big.Rat).Mul}[c.fn.name]
	if apply == nil || len(c.args) != 2 || !c.typ.Whole() && !c.typ.Decimal() {
		return nil, false
	}
	x, k := c.args[0], n.env.interval(c.args[1])
	swapped := !k.Constant()
	if swapped {
		x, k = c.args[1], n.env.interval(c.args[0])
	}
	if !k.Constant() || k.Null || k.Low.Sign() == 0 || n.env.interval(x).Constant() {
		return nil, false
	}
	texts, ok := n.values(x, n.env.narrowedToList(x, where), where)
	if !ok {
		return nil, false
	}
	return mapped(texts, in, func(x *big.Rat) *big.Rat {
		if swapped {
			return apply(new(big.Rat), k.Low, x)
		}
		return apply(new(big.Rat), x, k.Low)
	})
}

// mapped applies an injective function to numbers, and keeps the results within the interval.
func mapped(texts []string, in Interval, f func(*big.Rat) *big.Rat) (out []string, ok bool) {
	for _, t := range texts {
		x, ok := new(big.Rat).SetString(t)
		if !ok {
			return nil, false
		}
		y := f(x)
		if in.Low != nil && y.Cmp(in.Low) < 0 || in.High != nil && y.Cmp(in.High) > 0 {
			continue
		}
		text := decimalText(y, keptDigits)
		if !equalText(text, y) {
			return nil, false
		}
		out = append(out, text)
	}
	return out, true
}

// tens lists the values of round(x, -2) and trunc(x, -2).
func (n *enumeration) tens(c *call, in Interval) ([]string, bool) {
	if len(c.args) != 2 || c.fn.over != roundingTo || !in.Bounded() {
		return nil, false
	}
	digits, known, err := n.env.integer(c.args[1])
	if err != nil || !known || digits >= 0 {
		return nil, false
	}
	step := power10(int(-digits))
	steps := Interval{Low: new(big.Rat).Quo(in.Low, step), High: new(big.Rat).Quo(in.High, step)}
	texts, ok := listed(&call{node: node{typ: pgtype.Of(pgtype.Numeric)}}, steps, true, n.most)
	if !ok {
		return nil, false
	}
	return mapped(texts, in, func(x *big.Rat) *big.Rat { return x.Mul(x, step) })
}

// firstDays lists the dates on which the periods of date_trunc begin.
func (n *enumeration) firstDays(c *cast, where []Expr) ([]string, bool) {
	of := c.x
	if b, ok := of.(*bounded); ok {
		of = b.x
	}
	x, ok := of.(*call)
	if !ok || c.typ.OID != pgtype.Date || x.fn.name != "date_trunc" {
		return nil, false
	}
	texts, ok := n.truncated(x, where)
	if !ok {
		return nil, false
	}
	for i, t := range texts {
		day, clock, _ := strings.Cut(t, " ")
		_, era, _ := strings.Cut(clock, " ")
		texts[i] = strings.TrimSpace(day + " " + era)
	}
	return slices.Compact(texts), true
}

// single returns the value of a constant.
func (n *enumeration) single(c *constant) ([]string, bool) {
	d, err := n.env.datum(c)
	switch {
	case err != nil:
		return nil, false
	case d.null:
		return nil, true
	case c.typ.Family() == pgtype.TextFamily:
		return spellings(c.typ, []string{d.text}), true
	case c.typ.Family() == pgtype.EnumFamily:
		return []string{string(n.env.Values[c.fold].Bytes)}, true
	case d.number == nil:
		return nil, false
	case c.typ.Family() == pgtype.NumericFamily:
		return []string{decimalText(d.number, d.digits)}, true
	}
	return listed(c, Interval{Low: d.number, High: d.number}, c.typ.Whole(), 1)
}

// spellings writes texts as KeyText does: values of character(n) are equal up to trailing blanks. Otherwise a row would belong to several
// groups.
func spellings(t pgtype.Type, texts []string) []string {
	if t.OID != pgtype.Bpchar {
		return texts
	}
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = strings.TrimRight(s, " ")
	}
	return out
}

// decimalText writes a numeric without trailing zeros.
func decimalText(r *big.Rat, digits int) string {
	for d := range digits {
		if s := r.FloatString(d); equalText(s, r) {
			return s
		}
	}
	return r.FloatString(digits)
}

func equalText(s string, r *big.Rat) bool {
	x, ok := new(big.Rat).SetString(s)
	return ok && x.Cmp(r) == 0
}

// union returns the values of several expressions.
func (n *enumeration) union(list, where []Expr) ([]string, bool) {
	var all []string
	for _, e := range list {
		texts, ok := n.values(e, n.env.narrowedToList(e, where), where)
		if !ok || len(all)+len(texts) > 2*n.most {
			return nil, false
		}
		for _, t := range texts {
			if !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	return all, true
}

// integral reports whether the values of a numeric expression are whole numbers.
func (n *enumeration) integral(e Expr) bool {
	digits, known := n.env.Scale(e)
	return known && digits == 0
}

// listed lists booleans, whole numbers and dates within an interval.
func listed(e Expr, in Interval, integral bool, most int) ([]string, bool) {
	t := e.Type()
	if t.Family() == pgtype.BoolFamily {
		return boolTexts(in), true
	}
	if !in.Bounded() || t.OID != pgtype.Date && (!integral || t.Family() != pgtype.IntFamily && t.Family() != pgtype.NumericFamily) {
		return nil, false
	}
	low, high := ceil(in.Low).Num(), floor(in.High).Num()
	span := new(big.Int).Sub(high, low)
	if !span.IsInt64() || span.Int64() >= int64(most) || !low.IsInt64() {
		return nil, false
	}
	var texts []string
	for i := range span.Int64() + 1 {
		n := new(big.Int).Add(low, big.NewInt(i))
		if t.OID == pgtype.Date {
			texts = append(texts, dayText(n.Int64(), "", false, false))
			continue
		}
		texts = append(texts, n.String())
	}
	return texts, true
}

func boolTexts(in Interval) []string {
	var texts []string
	if !in.Bounded() || in.Low.Sign() == 0 {
		texts = append(texts, "false")
	}
	if !in.Bounded() || in.High.Sign() > 0 {
		texts = append(texts, "true")
	}
	return texts
}

// truncated lists the beginnings of the periods in an interval of local times. For instants the interval is widened by a day on both sides,
// whatever the session's time zone.
func (n *enumeration) truncated(c *call, where []Expr) ([]string, bool) {
	field, err := n.env.text(c.args[0])
	if err != nil || field == nil || len(c.args) > 2 {
		return nil, false
	}
	of, zoned := localOf(c.args[1])
	slack := int64(0)
	if zoned {
		slack = n.env.offset(zoneConstant(c.zone, c.at))
	}
	in := n.env.narrowedToList(of, where)
	p, known := periods[strings.ToLower(*field)]
	if !known || !in.Bounded() || slack > 0 && strings.EqualFold(*field, "hour") {
		return nil, false
	}
	unit := int64(1)
	if of.Type().OID == pgtype.Date {
		unit = pgtype.MicrosPerDay
	}
	low, high := floor(in.Low).Num(), floor(in.High).Num()
	if !low.IsInt64() || !high.IsInt64() {
		return nil, false
	}
	end := pgtype.Moment(high.Int64()*unit + slack)
	var texts []string
	for at := p.begin(pgtype.Moment(low.Int64()*unit - slack)); !at.After(end); at = p.next(at) {
		if len(texts) >= n.most {
			return nil, false
		}
		texts = append(texts, dayText(floorDiv(at.Unix()-pgtype.Epoch.Unix(), 24*60*60), at.Format(" 15:04:05.999999"), false, false))
	}
	return texts, true
}

// localOf returns the date or local time from which an argument of date_trunc was made, or the instant itself.
func localOf(e Expr) (local Expr, instant bool) {
	if c, ok := e.(*cast); ok && c.typ.Zoned() && c.x.Type().Family() == pgtype.DateFamily {
		return c.x, false
	}
	return e, e.Type().Zoned()
}

// A period of date_trunc: the beginning of the period that contains a time, and the beginning of the next period.
type period struct{ begin, next func(time.Time) time.Time }

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

func after(years, months, days int) func(time.Time) time.Time {
	return func(t time.Time) time.Time { return t.AddDate(years, months, days) }
}

var periods = map[string]period{
	"hour": {func(t time.Time) time.Time { return t.Truncate(time.Hour) }, func(t time.Time) time.Time { return t.Add(time.Hour) }},
	"day":  {midnight, after(0, 0, 1)},
	"week": {func(t time.Time) time.Time { return midnight(t).AddDate(0, 0, -(int(t.Weekday())+6)%7) }, after(0, 0, 7)},
	"month": {
		func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) }, after(0, 1, 0),
	},
	"quarter": {
		func(t time.Time) time.Time { return time.Date(t.Year(), (t.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC) }, after(0, 3, 0),
	},
	"year": {func(t time.Time) time.Time { return time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC) }, after(1, 0, 0)},
}
