package scalar

import (
	"math/big"
	"slices"
	"strings"
	"time"
)

// Enumerate lists the values that an expression can have, as far as its bounds tell
// them, as canonical texts (KeyText) in their order, and whether it may be NULL, in rows
// on which all conditions are true. It is a function of the policy and of constants. ok is
// false where there may be more than most values, or any.
func (env *Env) Enumerate(e Expr, where []Expr, most int) (texts []string, null, ok bool) {
	in := env.Narrowed(e, where)
	texts, ok = env.values(e, in, where, most)
	return texts, in.Null, ok && len(texts) <= most
}

func (env *Env) values(e Expr, in Interval, where []Expr, most int) ([]string, bool) {
	switch x := e.(type) { //nolint:gochecksumtype // the others are told by their bounds
	case *constant:
		return env.single(x)
	case *branches:
		return env.union(x.results(), where, most)
	case *choice:
		if x.kind == "coalesce" {
			return env.union(x.args, where, most)
		}
	case *nullIf:
		return env.values(x.left, in, where, most)
	case *Ref:
		b := x.Column.Base()
		switch {
		case b.Values != nil:
			return b.Values, true
		case len(b.Of) > 0 && b.Type.Family() != InstantFamily:
			return env.union(b.Of, nil, most)
		}
	case *call:
		if x.fn.name == "date_trunc" {
			return env.truncated(x, where, most)
		}
	}
	return listed(e, in, env.integral(e), most)
}

// single is the value of a constant.
func (env *Env) single(c *constant) ([]string, bool) {
	d, err := env.datum(c)
	switch {
	case err != nil:
		return nil, false
	case d.null:
		return nil, true
	case c.typ.Family() == TextFamily:
		return []string{d.text}, true
	case c.typ.Family() == EnumFamily:
		return []string{string(env.Values[c.fold].Bytes)}, true
	case d.number == nil:
		return nil, false
	case c.typ.Family() == NumericFamily:
		return []string{decimalText(d.number, d.digits)}, true
	}
	return listed(c, Interval{Low: d.number, High: d.number}, c.typ.whole(), 1)
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

// union is what several expressions can have, sorted.
func (env *Env) union(list, where []Expr, most int) ([]string, bool) {
	var all []string
	for _, e := range list {
		texts, ok := env.values(e, env.Narrowed(e, where), where, most)
		if !ok || len(all)+len(texts) > 2*most {
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

// integral reports whether the values of a numeric expression are whole.
func (env *Env) integral(e Expr) bool {
	if c, ok := e.(*call); ok && c.fn.name == "extract" {
		field, err := env.text(c.args[0])
		return err == nil && field != nil && slices.Contains(wholeFields, *field)
	}
	digits, known := env.Scale(e)
	return known && digits == 0
}

// wholeFields are the fields of extract whose values are whole numbers.
var wholeFields = []string{
	"century", "day", "decade", "dow", "doy", "hour", "isodow", "isoyear", "millennium", "minute", "month", "quarter", "week", "year",
}

// listed lists truth values, whole numbers and dates within an interval.
func listed(e Expr, in Interval, integral bool, most int) ([]string, bool) {
	t := e.Type()
	if t.Family() == BoolFamily {
		return boolTexts(in), true
	}
	if !in.Bounded() || t.OID != oidDate && (!integral || t.Family() != IntFamily && t.Family() != NumericFamily) {
		return nil, false
	}
	low, high := ceil(in.Low).Num(), floor(in.High).Num()
	span := new(big.Int).Sub(high, low)
	if !span.IsInt64() || span.Int64() >= int64(most) || !low.IsInt64() {
		return nil, false
	}
	var texts []string
	for n := low.Int64(); n <= high.Int64(); n++ {
		if t.OID == oidDate {
			texts = append(texts, epoch.AddDate(0, 0, int(n)).Format(time.DateOnly))
			continue
		}
		texts = append(texts, big.NewInt(n).String())
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

// truncated lists the beginnings of the periods in an interval of local times. Those
// of an instant begin a day early and end a day late, wherever the session is.
func (env *Env) truncated(c *call, where []Expr, most int) ([]string, bool) {
	field, err := env.text(c.args[0])
	if err != nil || field == nil || len(c.args) > 2 {
		return nil, false
	}
	of, slack := localOf(c.args[1])
	in := env.Narrowed(of, where)
	p, known := periods[strings.ToLower(*field)]
	if !known || !in.Bounded() || slack > 0 && strings.EqualFold(*field, "hour") {
		return nil, false
	}
	unit := int64(1)
	if of.Type().OID == oidDate {
		unit = microsPerDay
	}
	low, high := floor(in.Low).Num(), floor(in.High).Num()
	if !low.IsInt64() || !high.IsInt64() {
		return nil, false
	}
	end := timeOf(high.Int64()*unit + slack)
	var texts []string
	for at := p.begin(timeOf(low.Int64()*unit - slack)); !at.After(end); at = p.next(at) {
		if len(texts) >= most {
			return nil, false
		}
		texts = append(texts, at.Format("2006-01-02 15:04:05.999999"))
	}
	return texts, true
}

// localOf returns the date or local time that an argument of date_trunc was made from, or
// the instant itself, and how far an instant is from its local time at most.
func localOf(e Expr) (local Expr, slack int64) {
	if c, ok := e.(*cast); ok && zoned(c.typ) && c.x.Type().Family() == DateFamily {
		return c.x, 0
	}
	if zoned(e.Type()) {
		return e, microsPerDay
	}
	return e, 0
}

// A period of date_trunc: where the one begins that holds a time, and the next one.
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

// Key writes an expression that rows are grouped by. What date_trunc makes of an instant
// stays a local time: it stands for the instant that it is in the session's time zone.
func (w *Writer) Key(e Expr) (string, Type, error) {
	c, ok := e.(*call)
	if !ok || c.fn.name != "date_trunc" || len(c.args) != 2 || c.typ.OID != oidTimestamptz {
		return w.Value(e)
	}
	field, err := w.field(c.args[0], func(s string) bool { return units[s] > 0 })
	if err != nil {
		return "", Type{}, err
	}
	x, err := w.write(c.args[1], bounded)
	if err != nil {
		return "", Type{}, err
	}
	if x.zone == "" {
		zone, err := w.sessionZone(c.zone, c.at)
		if err != nil {
			return "", Type{}, err
		}
		x.sql = "pg_catalog.timezone(" + zone + ", " + x.sql + ")"
	}
	return "pg_catalog.date_trunc(" + field + ", " + x.sql + ")", typ(oidTimestamp), nil
}

// constantScale returns the decimals of a constant.
func (env *Env) constantScale(c *constant) (digits int, ok bool) {
	d, err := env.datum(c)
	return d.digits, err == nil && d.number != nil
}
