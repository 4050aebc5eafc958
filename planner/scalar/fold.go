package scalar

import (
	"strconv"
	"strings"

	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// A Fold is a column-free expression, printed by us. It is evaluated once on the
// mirror, in the analyst's session; only its value goes further.
type Fold struct {
	SQL  string
	Type pgtype.Type
	At   int
	// Concealed says that the text is one that no analyst may see, and is evaluated in a
	// session of our own. It may name the values of the others: $1 is that of the first fold.
	Concealed bool
	// Derived says that it is computed of other constants, which its text names as [Evaluation] has them.
	Derived bool
}

// Constants collects the folds of a statement, equal ones once.
type Constants struct {
	folds []Fold
	// assumed says that a sub-select was taken to have the type of its neighbour.
	assumed bool
}

// Add returns the index of the fold.
func (c *Constants) Add(f Fold) int {
	for i, have := range c.folds {
		if have.SQL == f.SQL && have.Type == f.Type && have.Concealed == f.Concealed {
			return i
		}
	}
	c.folds = append(c.folds, f)
	return len(c.folds) - 1
}

// Folds returns the constants to evaluate, in order.
func (c *Constants) Folds() []Fold { return c.folds }

// Inlined are constants as text for the mirror holds them.
type Inlined struct{ texts []string }

// Inlined returns the constants for text that is, or is not, concealed. One that is holds those
// that are not concealed themselves by the parameters of their values: the analyst's own text
// never runs beside a secret, in a session that has other rights than theirs. Text that is not names the columns
// that [Evaluation] computes them in, so that each is computed once.
func (c *Constants) Inlined(concealed bool) Inlined {
	texts := make([]string, len(c.folds))
	for i, f := range c.folds {
		switch {
		case f.Concealed:
			texts[i] = "(" + f.SQL + ")"
		case concealed:
			texts[i] = f.apart(i)
		default:
			texts[i] = evaluated(i)
		}
	}
	return Inlined{texts}
}

// apart writes the parameter of a fold's value, which is a text where its type is user-defined:
// that can be one of the analyst's own, whose checks call their functions.
func (f Fold) apart(i int) string {
	p := "($" + strconv.Itoa(i+1) + ")"
	if f.Type.Enum.Name == "" || f.Type.Named() {
		return p
	}
	return castSQL(castSQL(p, pgtype.Of(pgtype.Text)), f.Type)
}

// Evaluation writes the constants that are not concealed for one SELECT of the mirror: the columns, in order, and
// behind them its FROM. One that is volatile has one value there, be it a column and part of others.
func Evaluation(folds []Fold) (columns []string, from string) {
	var once []string
	for i, f := range folds {
		switch {
		case f.Concealed:
			continue
		case f.Derived:
			columns = append(columns, "("+f.SQL+")")
		default:
			once = append(once, "("+f.SQL+") AS c"+strconv.Itoa(i+1))
			columns = append(columns, evaluated(i))
		}
	}
	if len(once) > 0 {
		from = " FROM (SELECT " + strings.Join(once, ", ") + ` OFFSET 0) AS "dp$constants"`
	}
	return columns, from
}

// evaluated names the column of a constant.
func evaluated(i int) string { return `"dp$constants".c` + strconv.Itoa(i+1) }

// SQL writes the i-th constant.
func (in Inlined) SQL(i int) string { return in.texts[i] }

// A Value is a constant as the mirror evaluated it: nil Bytes are NULL. Values of
// user-defined types come as text.
type Value struct {
	OID    uint32
	Binary bool
	Bytes  []byte
}

// Values are those of the folds of a statement, in order.
type Values []Value

// Check compares the types of the values with those that the folds must have. A
// difference is a defect: the folds were typed otherwise than Postgres does. With a
// sub-select, it may be that it does not have the type of its neighbour. Concealed ones
// are computed from the others, and need have no value yet.
func (c *Constants) Check(values []Value) error {
	if len(values) != len(c.folds) {
		return pgerr.New(pgerr.Internal, "%d constants were evaluated, not %d", len(values), len(c.folds))
	}
	for i, f := range c.folds {
		want, got := f.Type.Wire(), values[i].OID
		switch {
		case f.Concealed && got == 0: // not yet
		case got == want || want == 0 && got >= pgtype.FirstUser && !values[i].Binary:
		case c.assumed:
			return untyped(f.At)
		default:
			return pgerr.New(pgerr.Internal, "a constant of type %s has another type when it is computed", f.Type).At(f.At).
				WithHint("Cast it to the type that it should have.")
		}
	}
	return nil
}

// Format is the format that the value of the fold is asked for in: binary, which no
// setting of a session changes, but for values of user-defined types.
func (f Fold) Format() int16 {
	if f.Type.Wire() == 0 {
		return 0
	}
	return 1
}

func untyped(at int) error {
	return pgerr.New(pgerr.NotAllowed,
		"the type of this constant is not known before it is computed, or not that of what is beside it").At(at).
		WithHint("Cast it: CAST((SELECT ...) AS integer).")
}
