package scalar

import (
	"math"
	"slices"
	"strings"

	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// The rules of texts. A function reads at most cutLength characters of a column, and makes at most longestText bytes: Postgres raises if a
// text gets too long, and a long text takes long.
const (
	longestText = 1 << 20
	// longestArgument bounds a constant that is searched for, in bytes.
	longestArgument = 256
)

var (
	length  = &rule{bounds: lengthBounds, write: counted}
	letters = &rule{bounds: textual, length: firstLength(3), write: spelled}
	reverse = &rule{bounds: textual, length: firstLength(1), write: textFunction}
	trim    = &rule{bounds: textual, length: firstLength(1), write: textFunction}
	trimOf  = &rule{bounds: textual, length: firstLength(1), constants: []int{1}, cost: trimCost, write: textFunction}
	part    = &rule{
		bounds: textual, length: argumentLength(2), constants: []int{1, 2}, least: map[int]int64{1: math.MinInt32},
		write: textFunction,
	}
	end = &rule{
		bounds: textual, length: argumentLength(1), constants: []int{1}, least: map[int]int64{1: math.MinInt32 + 1},
		write: textFunction,
	}
	// padded is lpad and rpad: as many characters as the argument says, whatever the padding.
	padded = &rule{
		bounds: textual, length: paddedLength, constants: []int{1, 2}, write: textFunction,
		makes: func(c *costing, e *call) int { return paddedLength(c.env, e, octets) },
	}
	rest = &rule{
		bounds: textual, length: firstLength(1), constants: []int{1}, least: map[int]int64{1: math.MinInt32},
		write: textFunction,
	}
	find    = &rule{texts: true, bounds: lengthBounds, constants: []int{1}, reads: readsFirst, cost: searchCost, write: counted}
	prefix  = &rule{texts: true, bounds: textual, constants: []int{1}, write: counted}
	replace = &rule{
		texts: true, bounds: textual, length: replacedLength, constants: []int{1, 2}, reads: readsFirst, cost: searchCost,
		write: textFunction,
		makes: func(c *costing, e *call) int { return c.env.textLength(e, octets) },
	}
	translate = &rule{
		texts: true, bounds: textual, length: translatedLength, constants: []int{1, 2}, cost: translateCost, write: textFunction,
		makes: func(c *costing, e *call) int { return c.env.textLength(e, octets) },
	}
	splitPart = &rule{
		texts: true, bounds: textual, length: firstLength(1), constants: []int{1, 2}, least: map[int]int64{2: 1},
		reads: readsFirst, cost: searchCost, write: textFunction,
	}
	hash = &rule{bounds: textual, length: func(*Env, *call, unit) int { return 32 }, write: counted}
	// concatenate is || and concat().
	concatenate = &rule{bounds: textual, length: sumOfLengths, makes: madeOfAll, write: textFunction}
)

// textual is the interval of a function whose result has no bounds.
func textual(env *Env, c *call) Interval {
	i := Interval{Null: false}
	if c.typ.Family() == pgtype.BoolFamily {
		i = span(0, 1)
	}
	for _, a := range c.args {
		i.Null = i.Null || env.interval(a).Null
	}
	return i
}

func lengthBounds(env *Env, c *call) Interval {
	n := int64(max(env.textLength(c.args[0], characters), 1)) // an empty text is found at the first character
	if c.fn.name == "octet_length" {
		n *= 4
	}
	i := span(0, n)
	i.Null = textual(env, c).Null
	return i
}

func firstLength(factor int) func(*Env, *call, unit) int {
	return func(env *Env, c *call, u unit) int { return factor * env.textLength(c.args[0], u) }
}

// argumentLength is the value of a constant argument.
func argumentLength(arg int) func(*Env, *call, unit) int {
	return func(env *Env, c *call, u unit) int {
		n, _, err := env.integer(c.args[arg])
		if err != nil {
			return longestText
		}
		if n < 0 { // all but so many
			return env.textLength(c.args[0], u)
		}
		return int(min(n*int64(u), int64(env.textLength(c.args[0], u))))
	}
}

func replacedLength(env *Env, c *call, u unit) int {
	to, err := env.text(c.args[2])
	if err != nil || to == nil {
		return 0
	}
	return env.textLength(c.args[0], u) * max(1, len(*to))
}

func paddedLength(env *Env, c *call, u unit) int {
	n, _, err := env.integer(c.args[1])
	if err != nil || n > longestText {
		return longestText + 1
	}
	return int(max(n, 0)) * int(u)
}

// translatedLength assumes the same number of characters, each of the largest size.
func translatedLength(env *Env, c *call, _ unit) int {
	return env.textLength(c.args[0], characters) * int(octets)
}

func sumOfLengths(env *Env, c *call, u unit) int {
	n := 0
	for _, a := range c.args {
		n += env.textLength(a, u)
	}
	return n
}

// counted writes a function of a text with a result of fixed size.
func counted(w *Writer, c *call) (fragment, error) {
	x, err := textArguments(w, c)
	if err != nil {
		return fragment{}, err
	}
	out := fragment{sql: c.fn.sql(x...), typ: c.typ}
	if c.typ.Whole() {
		return fragment{sql: castSQL(out.sql, pgtype.Of(pgtype.Int8)), typ: pgtype.Of(pgtype.Int8)}, nil
	}
	return out, nil
}

// textFunction writes a function that makes a text from a bounded text.
func textFunction(w *Writer, c *call) (fragment, error) {
	if n := c.fn.over.length(w.Env, c, octets); n > longestText {
		return fragment{}, pgerr.New(pgerr.NotAllowed, "the result of %s can have more than %d bytes", c.fn.title(), longestText).At(c.at).
			WithHint("Shorten the operands: left(x, 100).")
	}
	x, err := textArguments(w, c)
	if err != nil {
		return fragment{}, err
	}
	return fragment{sql: c.fn.sql(x...), typ: pgtype.Of(pgtype.Text)}, nil
}

// spelled writes a function that converts letters.
func spelled(w *Writer, c *call) (fragment, error) {
	if !w.Env.UTF8 {
		return fragment{}, notUTF8(c.fn.title(), c.at)
	}
	return textFunction(w, c)
}

func textArguments(w *Writer, c *call) ([]string, error) {
	x := make([]string, len(c.args))
	for i, a := range c.args {
		if slices.Contains(c.fn.over.constants, i) {
			if err := checkArgument(w, c, i); err != nil {
				return nil, err
			}
		}
		f, err := w.write(a, clamped)
		if err != nil {
			return nil, err
		}
		if x[i], err = w.convertTo(f, textOr(f.typ, c.fn.args[i]), c.at); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// textOr returns the type in which an argument is written: texts as the function takes them, and other types unchanged.
func textOr(t pgtype.Type, arg uint32) pgtype.Type {
	if t.Family() == pgtype.TextFamily && t.OID != pgtype.Varchar {
		return pgtype.Of(arg)
	}
	return t
}

// checkArgument refuses constants for which a function raises, or that make it slow.
func checkArgument(w *Writer, c *call, arg int) error {
	if c.fn.args[arg] == pgtype.Int4 {
		n, ok, err := w.Env.integer(c.args[arg])
		least := c.fn.over.least[arg]
		if err == nil && ok && n < least {
			err = pgerr.New(pgerr.NotAllowed, "argument %d of %s must be at least %d on protected data", arg+1, c.fn.title(), least).
				At(c.args[arg].Pos()).
				WithHint("Use another constant.")
		}
		return err
	}
	s, err := w.Env.text(c.args[arg])
	if err == nil && s != nil && len(*s) > longestArgument {
		err = pgerr.New(pgerr.NotAllowed, "argument %d of %s has more than %d bytes", arg+1, c.fn.title(), longestArgument).
			At(c.args[arg].Pos()).
			WithHint("Use a shorter one.")
	}
	return err
}

// isTemplate reports whether a to_char template consists only of parts that mean the same in every locale and cannot raise.
func isTemplate(s string) bool {
	for s != "" {
		n := 0
		for _, p := range templateParts {
			if strings.HasPrefix(s, p) {
				n = max(n, len(p))
			}
		}
		if n == 0 {
			return false
		}
		s = s[n:]
	}
	return true
}

var templateParts = []string{
	"YYYY", "IYYY", "YY", "MM", "Month", "MONTH", "month", "Mon", "MON", "mon", "DDD", "DD",
	"IDDD", "ID", "D", "Day", "DAY", "day", "Dy", "DY", "dy", "WW", "IW", "Q",
	"HH24", "HH12", "MI", "SS", "US", "FM", "-", "/", ".", ",", ":", " ", "_", "\"T\"", "\"W\"", "\"Q\"",
}
