package scalar

import (
	"math/big"
	"slices"
	"strings"
	"time"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// The rules of dates and times. All results are in the years 1 to 9999, well within the ranges beyond which Postgres raises.

var (
	dateShift = &rule{
		bounds: momentBounds(func(c *call, i ...Interval) Interval {
			a, b := i[0], i[1]
			if c.fn.name == "-" {
				b = b.negative()
			}
			return Interval{Low: new(big.Rat).Add(a.Low, b.Low), High: new(big.Rat).Add(a.High, b.High)}
		}),
		write: moved(func(_ *Writer, c *call, x []fragment) (fragment, error) {
			parts := make([]string, len(x))
			for i, f := range x {
				parts[i] = f.sql
				if f.typ.OID != pgtype.Date {
					parts[i] = castSQL(f.sql, pgtype.Of(pgtype.Int4))
				}
			}
			return fragment{sql: c.fn.sql(parts...), typ: pgtype.Of(pgtype.Date)}, nil
		}),
	}
	dateDifference = &rule{
		bounds: momentBounds(func(_ *call, i ...Interval) Interval {
			b := i[1].negative()
			return Interval{Low: new(big.Rat).Add(i[0].Low, b.Low), High: new(big.Rat).Add(i[0].High, b.High), Least: rat(1)}
		}),
		write: moved(func(_ *Writer, c *call, x []fragment) (fragment, error) {
			return fragment{sql: castSQL(c.fn.sql(x[0].sql, x[1].sql), pgtype.Of(pgtype.Int8)), typ: pgtype.Of(pgtype.Int8)}, nil
		}),
	}
	// shift adds a constant interval to a date or time, or subtracts it.
	shift = &rule{constantOf: pgtype.Interval, zoned: true, bounds: shiftBounds, write: moved(shifted)}
	// difference is an interval of days and time, without months.
	difference = &rule{
		bounds: dateDifference.bounds,
		write: moved(func(_ *Writer, c *call, x []fragment) (fragment, error) {
			return fragment{sql: c.fn.sql(x[0].sql, x[1].sql), typ: pgtype.Of(pgtype.Interval)}, nil
		}),
	}
	truncate = &rule{
		constants: []int{0, 2}, zoned: true, bounds: truncatedBounds, write: truncated, key: truncatedKey, settles: settledTruncation,
		cost: func(c *costing, e *call) int64 {
			if len(e.args) < 3 {
				return functionCost(c, e)
			}
			return added(functionCost(c, e), c.zone(e.args[2]))
		},
	}
	extract = &rule{constants: []int{0}, zoned: true, bounds: extractBounds, write: extracted, settles: settledField}
	// atZone is AT TIME ZONE.
	atZone = &rule{
		constants: []int{0},
		cost:      func(c *costing, e *call) int64 { return added(functionCost(c, e), c.zone(e.args[0])) },
		bounds: func(env *Env, c *call) Interval {
			i := env.interval(c.args[1])
			if env.listing && c.args[1].Type().Zoned() {
				if local, ok := localTimes(env, i, c.args[0]); ok {
					return local
				}
			}
			if !i.Bounded() {
				return Interval{Null: i.Null, empty: i.empty}
			}
			offset := rat(env.offset(c.args[0]))
			i.Low, i.High = new(big.Rat).Sub(i.Low, offset), new(big.Rat).Add(i.High, offset)
			return i
		},
		write: func(w *Writer, c *call) (fragment, error) {
			if i := w.Env.interval(c.args[1]); !i.Bounded() && !i.empty {
				return fragment{}, w.noBounds(c.args[1])
			}
			zone, err := w.zone(c.args[0])
			if err != nil {
				return fragment{}, err
			}
			x, err := w.operand(c.args[1])
			return fragment{sql: "pg_catalog.timezone(" + zone + ", " + x.sql + ")", typ: c.typ}, err
		},
	}
	format = &rule{
		constants: []int{1}, zoned: true, bounds: textual, length: func(*Env, *call, unit) int { return 1000 }, write: formatted,
		settles: settledFormat,
	}
)

// momentBounds bounds a function by the intervals of its arguments, which must have bounds.
func momentBounds(f func(c *call, i ...Interval) Interval) func(*Env, *call) Interval {
	return ofArguments(Interval.Bounded, func(c *call, null bool, list []Interval) Interval {
		// "integer + date" and "interval + date" are like the reverse
		if c.typ.Dated() && !c.args[0].Type().Dated() {
			slices.Reverse(list)
		}
		out := f(c, list...)
		out.Null = null
		return out
	})
}

// moved writes a function of moments that all have bounds, and whose result is in range.
func moved(write func(w *Writer, c *call, x []fragment) (fragment, error)) func(*Writer, *call) (fragment, error) {
	return func(w *Writer, c *call) (fragment, error) {
		for _, a := range c.args {
			if i := w.Env.interval(a); !i.Bounded() && !i.empty {
				return fragment{}, w.noBounds(a)
			}
		}
		if i := w.Env.interval(c); c.typ.Dated() && !i.within(years(c.typ)) {
			return fragment{}, outOfRange(c)
		}
		x := make([]fragment, len(c.args))
		for i, a := range c.args {
			var err error
			if x[i], err = w.operand(a); err != nil {
				return fragment{}, err
			}
		}
		return write(w, c, x)
	}
}

// shiftBounds shifts both ends. Adding months is monotone only in the day: a day that the month does not have becomes its last day,
// whatever the time of day. In a time zone, not all days have 24 hours.
func shiftBounds(env *Env, c *call) Interval {
	by, isConstant := c.args[len(c.args)-1].(*constant)
	if c.args[0].Type().OID == pgtype.Interval {
		by, isConstant = c.args[0].(*constant)
	}
	if !isConstant {
		return Interval{Null: true}
	}
	d, err := env.datum(by)
	if err != nil || !d.null && d.number == nil {
		return Interval{Null: true}
	}
	return momentBounds(func(c *call, i ...Interval) Interval {
		sign := 1
		if c.fn.name == "-" {
			sign = -1
		}
		out := i[0]
		x := c.args[0]
		if !x.Type().Dated() {
			x = c.args[1]
		}
		if x.Type().OID == pgtype.Date {
			out.Low, out.High = new(big.Rat).Mul(out.Low, rat(pgtype.MicrosPerDay)), new(big.Rat).Mul(out.High, rat(pgtype.MicrosPerDay))
		}
		if day := rat(pgtype.MicrosPerDay); d.months != 0 {
			low, last := scaledBy(out.Low, day, floor), scaledBy(out.High, day, floor)
			out.Low, out.High = d.added(low, sign), d.added(last.Sub(last.Add(last, day), rat(1)), sign)
		} else {
			out.Low, out.High = d.added(floor(out.Low), sign), d.added(ceil(out.High), sign)
		}
		if c.typ.Zoned() && (d.months != 0 || d.days != 0) {
			out.Low, out.High = out.Low.Sub(out.Low, rat(2*pgtype.MicrosPerDay)), out.High.Add(out.High, rat(2*pgtype.MicrosPerDay))
		}
		return out
	})(env, c)
}

func outOfRange(c *call) error {
	return pgerr.New(pgerr.NotAllowed, "the result of %s can be out of range", c.fn.title()).At(c.at).WithHint("Use a smaller interval.")
}

// leavesYears reports whether a moment within i leaves the years that can be computed with while an interval is added: months first, then
// days, then time.
func (d datum) leavesYears(i Interval, t pgtype.Type, sign int) bool {
	low, high := i.Low, i.High
	if t.OID == pgtype.Date {
		low, high = new(big.Rat).Mul(low, rat(pgtype.MicrosPerDay)), new(big.Rat).Mul(high, rat(pgtype.MicrosPerDay))
	}
	for _, step := range []datum{{months: d.months}, {months: d.months, days: d.days}} {
		if !(Interval{Low: step.added(floor(low), sign), High: step.added(ceil(high), sign)}).within(years(pgtype.Of(pgtype.Timestamp))) {
			return true
		}
	}
	return false
}

// scaledBy rounds to a multiple of unit.
func scaledBy(r, unit *big.Rat, round func(*big.Rat) *big.Rat) *big.Rat {
	x := round(new(big.Rat).Quo(r, unit))
	return x.Mul(x, unit)
}

// added adds an interval to a moment in microseconds: first months, keeping the day if the month has it, then days, then time.
func (d datum) added(r *big.Rat, sign int) *big.Rat {
	t := pgtype.Moment(r.Num().Int64())
	if months := sign * int(d.months); months != 0 {
		y, m, day := t.Date()
		first := time.Date(y, m+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
		last := first.AddDate(0, 1, -1).Day()
		clock := t.Sub(time.Date(y, m, day, 0, 0, 0, 0, time.UTC))
		t = first.AddDate(0, 0, min(day, last)-1).Add(clock)
	}
	out := new(big.Rat).Mul(rat(t.Unix()-pgtype.Epoch.Unix()), rat(1_000_000))
	out.Add(out, rat(int64(t.Nanosecond()/1000)))
	out.Add(out, new(big.Rat).Mul(rat(int64(sign)*int64(d.days)), rat(pgtype.MicrosPerDay)))
	return out.Add(out, new(big.Rat).Mul(rat(int64(sign)), rat(d.micros)))
}

// shifted writes the sum. As in Postgres, an instant moves by months and days in the session's time zone, and then by time.
func shifted(w *Writer, c *call, x []fragment) (fragment, error) {
	at, by := 0, 1
	if c.args[0].Type().OID == pgtype.Interval {
		at, by = 1, 0
	}
	d, err := w.Env.datum(c.args[by].(*constant))
	if err != nil {
		return fragment{}, err
	}
	if !d.null && d.number == nil {
		return fragment{}, outOfRange(c)
	}
	sign := 1
	if c.fn.name == "-" {
		sign = -1
	}
	if i := w.Env.interval(c.args[at]); i.Bounded() && !d.null && d.leavesYears(i, c.args[at].Type(), sign) {
		return fragment{}, outOfRange(c)
	}
	if !c.typ.Zoned() {
		return operatorSQL(c.fn.name, x[at].sql, x[by].sql, pgtype.Of(pgtype.Timestamp)), nil
	}
	zone, err := w.sessionZone(c.zone, c.at)
	if err != nil {
		return fragment{}, err
	}
	sql, i := x[at].sql, x[by].sql
	months, days := "pg_catalog.date_trunc('month', "+i+")", "pg_catalog.date_trunc('day', "+i+")"
	local := func(sql, step string) string {
		moved := operatorSQL(c.fn.name, "pg_catalog.timezone("+zone+", "+sql+")", step, pgtype.Of(pgtype.Timestamp))
		return "pg_catalog.timezone(" + zone + ", " + moved.sql + ")"
	}
	if d.months != 0 {
		sql = local(sql, months)
	}
	if d.days != 0 {
		sql = local(sql, operatorSQL("-", days, months, pgtype.Of(pgtype.Interval)).sql)
	}
	return operatorSQL(c.fn.name, sql, operatorSQL("-", i, days, pgtype.Of(pgtype.Interval)).sql, pgtype.Of(pgtype.Timestamptz)), nil
}

// The functions date_trunc.

// units maps the fields of date_trunc to the longest time that they cut off, in days.
var units = map[string]int64{
	"microseconds": 1, "milliseconds": 1, "second": 1, "minute": 1, "hour": 1, "day": 1, "week": 7, "month": 31, "quarter": 92,
	"year": 366, "decade": 3660, "century": 36600, "millennium": 366000,
}

// postgresFields are the names of fields that Postgres knows in some place. With any other one it would fail on the first row.
var postgresFields = strings.Fields(`
	c cent century centuries d day days dec decs decade decades dow doy epoch h hour hours hr hrs isodow isoyear j jd julian m min mins
	minute minutes mil mils millennium millennia microsecond microseconds millisecond milliseconds mon mons month months ms msec msecs
	msecond mseconds qtr quarter s sec secs second seconds timezone timezone_h timezone_hour timezone_m timezone_minute us usec usecs
	usecond useconds w week weeks y year years yr yrs`)

// writeField writes a constant that names a field of a date, one of those that are taken.
func writeField(w *Writer, e Expr, all []string) (string, error) {
	name, err := w.Env.text(e)
	if err != nil {
		return "", err
	}
	if name == nil {
		return "CAST(NULL AS pg_catalog.text)", nil
	}
	f := strings.ToLower(*name)
	if !slices.Contains(postgresFields, f) {
		return "", pgerr.New(pgerr.InvalidParameterValue, "unit %q not recognized", *name).At(e.Pos()).
			WithHint("These are taken: %s.", strings.Join(all, ", "))
	}
	if !slices.Contains(all, f) {
		return "", pgerr.New(pgerr.NotAllowed, "the field %q is not allowed here on protected data", *name).At(e.Pos()).
			WithHint("These are taken: %s.", strings.Join(all, ", "))
	}
	return ast.Quote(f), nil
}

// truncations are the fields of date_trunc, from the shortest time that they cut off.
var truncations = []string{
	"microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade", "century",
	"millennium",
}

func truncatedBounds(env *Env, c *call) Interval {
	i := env.interval(c.args[1])
	name, err := env.text(c.args[0])
	switch {
	case err != nil || !i.Bounded():
		return Interval{Null: i.Null, empty: i.empty}
	case name == nil:
		return Interval{Null: true, empty: true}
	}
	days := units[strings.ToLower(*name)]
	if c.typ.Zoned() {
		days += 2
		i.High = new(big.Rat).Add(i.High, rat(pgtype.MicrosPerDay))
	}
	i.Low = new(big.Rat).Sub(i.Low, rat(days*pgtype.MicrosPerDay))
	return i
}

// truncated writes date_trunc. For a date that was cast to an instant it remains local, so that no group depends on the clocks of the time
// zone.
func truncated(w *Writer, c *call) (fragment, error) {
	if i := w.Env.interval(c.args[1]); !i.Bounded() && !i.empty {
		return fragment{}, w.noBounds(c.args[1])
	}
	field, err := writeField(w, c.args[0], truncations)
	if err != nil {
		return fragment{}, err
	}
	x, err := w.write(c.args[1], clamped)
	if err != nil {
		return fragment{}, err
	}
	if c.typ.OID == pgtype.Timestamp || x.zone != "" && len(c.args) == 2 {
		return fragment{sql: "pg_catalog.date_trunc(" + field + ", " + x.sql + ")", typ: pgtype.Of(pgtype.Timestamp), zone: x.zone}, nil
	}
	var zone string
	if len(c.args) == 3 {
		zone, err = w.zone(c.args[2])
	} else {
		zone, err = w.sessionZone(c.zone, c.at)
	}
	return fragment{
		sql: "pg_catalog.date_trunc(" + field + ", " + w.instant(x).sql + ", " + zone + ")",
		typ: pgtype.Of(pgtype.Timestamptz),
	}, err
}

// repeated are the fields whose periods clocks go through twice when they are set back: a local time does not tell which one it is.
var repeated = []string{"microseconds", "milliseconds", "second", "minute", "hour"}

// truncatedKey writes date_trunc of an instant as a local time, if that tells the instant.
func truncatedKey(w *Writer, c *call) (fragment, error) {
	name, err := w.Env.text(c.args[0])
	if err != nil || len(c.args) != 2 || name != nil && slices.Contains(repeated, strings.ToLower(*name)) {
		return w.write(c, asIs)
	}
	field, err := writeField(w, c.args[0], truncations)
	if err != nil {
		return fragment{}, err
	}
	if i := w.Env.interval(c.args[1]); !i.Bounded() && !i.empty {
		return fragment{}, w.noBounds(c.args[1])
	}
	x, err := w.write(c.args[1], clamped)
	if err != nil {
		return fragment{}, err
	}
	if x.zone == "" {
		zone, err := w.sessionZone(c.zone, c.at)
		if err != nil {
			return fragment{}, err
		}
		x.sql = "pg_catalog.timezone(" + zone + ", " + x.sql + ")"
	}
	return fragment{sql: "pg_catalog.date_trunc(" + field + ", " + x.sql + ")", typ: pgtype.Of(pgtype.Timestamp)}, nil
}

// The functions extract and date_part.

// A datePart is a field of a date or time, with its bounds for all dates.
type datePart struct {
	low, high int64
	digits    int // number of decimals
	time      bool
}

var parts = map[string]datePart{
	"microseconds": {-60_000_000, 60_000_000, 0, true}, "milliseconds": {-60_000, 60_000, 3, true}, "second": {-60, 60, 6, true},
	"minute": {-59, 59, 0, true}, "hour": {-1 << 40, 1 << 40, 0, true}, "day": {1, 31, 0, false}, "week": {1, 53, 0, false},
	"month": {1, 12, 0, false}, "quarter": {1, 4, 0, false}, "year": {-1, 10000, 0, false}, "isoyear": {-1, 10000, 0, false},
	"decade": {0, 1000, 0, false}, "century": {-1, 101, 0, false}, "millennium": {-1, 11, 0, false},
	"dow": {0, 6, 0, false}, "isodow": {1, 7, 0, false}, "doy": {1, 366, 0, false}, "epoch": {-1 << 40, 1 << 40, 6, false},
}

// dateParts are their names, from the longest time to the shortest.
var dateParts = []string{
	"millennium", "century", "decade", "year", "isoyear", "quarter", "month", "week", "day", "dow", "isodow", "doy", "hour", "minute",
	"second", "milliseconds", "microseconds", "epoch",
}

// intervalParts are the fields of an interval of days and time.
var intervalParts = []string{"microseconds", "milliseconds", "second", "minute", "hour", "day", "epoch"}

func extractBounds(env *Env, c *call) Interval {
	x := env.interval(c.args[1])
	name, err := env.text(c.args[0])
	switch {
	case err != nil || !x.Bounded():
		return Interval{Null: x.Null}
	case name == nil:
		return Interval{Null: true, empty: true}
	}
	from := c.args[1].Type()
	out := partBounds(strings.ToLower(*name), x, from)
	if from.OID == pgtype.Interval && madeBy(c.args[1], calendarAge) {
		out = agePart(strings.ToLower(*name), x)
	}
	out.Null = x.Null
	if c.typ.Float() {
		return out.outward(c.typ)
	}
	return out
}

// partBounds bounds a field of the values in x.
func partBounds(name string, x Interval, from pgtype.Type) Interval {
	p := parts[name]
	out := span(p.low, p.high)
	unit := rat(pgtype.MicrosPerDay)
	if from.OID == pgtype.Date {
		unit = rat(1)
	}
	low, high := new(big.Rat).Quo(x.Low, unit), new(big.Rat).Quo(x.High, unit) // in days
	if from.Zoned() && name != "epoch" {
		low, high = low.Sub(low, rat(1)), high.Add(high, rat(1))
	}
	year := func(r *big.Rat) int64 { return int64(pgtype.Epoch.AddDate(0, 0, int(floor(r).Num().Int64())).Year()) }
	numbered := func(n int64) *big.Rat { // there is no year 0
		if n <= 0 {
			n--
		}
		return rat(n)
	}
	switch {
	case name == "epoch":
		seconds := rat(86400)
		out.Low, out.High = new(big.Rat).Mul(low, seconds), new(big.Rat).Mul(high, seconds)
		if from.OID != pgtype.Interval {
			shift := rat(pgtype.Epoch.Unix())
			out.Low, out.High = out.Low.Add(out.Low, shift), out.High.Add(out.High, shift)
		}
	case from.OID == pgtype.Interval && name == "day":
		out.Low, out.High = floor(low), ceil(high)
	case from.OID == pgtype.Interval && name == "hour":
		out = span(-23, 23)
	case from.OID != pgtype.Interval && p.time:
		out.Low = new(big.Rat)
		if name == "hour" {
			out.High = rat(23)
		}
	case name == "year":
		out.Low, out.High = numbered(year(low)), numbered(year(high))
	case name == "isoyear":
		out.Low, out.High = numbered(year(low)-1), numbered(year(high)+1)
	}
	out.Least = power10(-p.digits)
	return out
}

// elapsed reports whether an interval is a difference of two times, or NULL: it has days and less than a day of time, but no months.
func elapsed(e Expr) bool { return madeBy(e, difference) }

// Lasting reports whether an interval is determined by its seconds, if its constants have no months: it is a difference of two times, or a
// choice among such differences and constants.
func Lasting(e Expr) bool {
	return len(e.Columns()) > 0 && lasting(e, func(*constant) bool { return true })
}

func lasting(e Expr, constants func(*constant) bool) bool {
	switch e := e.(type) { //nolint:gochecksumtype // the others must be differences
	case *constant:
		return constants(e)
	case *choice:
		return !slices.ContainsFunc(e.results, func(x Expr) bool { return !lasting(x, constants) })
	}
	return elapsed(e)
}

// withoutMonths reports whether a constant interval has no months.
func withoutMonths(env *Env) func(*constant) bool {
	return func(c *constant) bool {
		d, err := env.datum(c)
		return err == nil && d.months == 0
	}
}

// fieldsOf are those that a call of extract takes of its value, which is an age or anything else.
func fieldsOf(c *call, age bool) []string {
	from := c.args[1].Type()
	switch {
	case age:
		return ageParts
	case from.OID == pgtype.Interval:
		return intervalParts
	}
	return slices.DeleteFunc(slices.Clone(dateParts), func(name string) bool {
		return from.OID == pgtype.Date && c.fn.name == "extract" && parts[name].time
	})
}

func extracted(w *Writer, c *call) (fragment, error) {
	x := c.args[1]
	if i := w.Env.interval(x); !i.Bounded() && !i.empty {
		return fragment{}, w.noBounds(x)
	}
	from := x.Type()
	age := from.OID == pgtype.Interval && madeBy(x, calendarAge)
	field, err := writeField(w, c.args[0], fieldsOf(c, age))
	if err != nil {
		return fragment{}, err
	}
	name := strings.Trim(field, "'")
	if from.OID == pgtype.Interval && !age && !elapsed(x) && (name != "epoch" || !lasting(x, withoutMonths(w.Env))) {
		return fragment{}, notAllowed("a part of an interval that is no difference of two times", c.at)
	}
	f, err := w.operand(x)
	if err != nil {
		return fragment{}, err
	}
	if from.Zoned() && name != "epoch" {
		zone, err := w.sessionZone(c.zone, c.at)
		if err != nil {
			return fragment{}, err
		}
		f.sql = "pg_catalog.timezone(" + zone + ", " + f.sql + ")"
	}
	if w.Env.Before14 && c.fn.name == "extract" {
		return fragment{sql: exactPart(name, field, f.sql, from), typ: c.typ}, nil
	}
	return fragment{sql: c.fn.sql(field, f.sql), typ: c.typ}, nil
}

// formatted writes to_char.
func formatted(w *Writer, c *call) (fragment, error) {
	if i := w.Env.interval(c.args[0]); !i.Bounded() && !i.empty {
		return fragment{}, w.noBounds(c.args[0])
	}
	template, err := w.Env.text(c.args[1])
	if err != nil {
		return fragment{}, err
	}
	if template != nil && (len(*template) > longestArgument || !isTemplate(*template)) {
		return fragment{}, pgerr.New(pgerr.NotAllowed, "this to_char template is not allowed on protected data").At(c.args[1].Pos()).
			WithHint("Use YYYY, MM, DD, HH24, MI, SS, Q, IW, Mon, Day and punctuation.")
	}
	x, err := w.write(c.args[0], clamped)
	if err != nil {
		return fragment{}, err
	}
	sql := x.sql
	if x.typ.OID == pgtype.Timestamptz {
		zone, err := w.sessionZone(c.zone, c.at)
		if err != nil {
			return fragment{}, err
		}
		sql = "pg_catalog.timezone(" + zone + ", " + sql + ")"
	}
	p, err := w.write(c.args[1], asIs)
	return fragment{sql: "pg_catalog.to_char(" + sql + ", " + p.sql + ")", typ: pgtype.Of(pgtype.Text)}, err
}
