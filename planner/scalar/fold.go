package scalar

import (
	"strconv"
	"strings"

	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// A Fold is an expression without columns, printed by this package. The mirror evaluates it once, in the analyst's session; only its value
// goes further.
type Fold struct {
	SQL  string
	Type pgtype.Type
	At   int
	// Concealed says that no analyst may see the text, which is evaluated in a session of dpproxy's own. It may refer to the values of the
	// other folds: $1 is the value of the first fold.
	Concealed bool
	// Unknown says that a released result is in the text that is not known yet (unknown.go).
	Unknown bool
	// Derived says that the text computes from other constants, which it names as [Evaluation] does.
	Derived bool
}

// Constants collects the folds of a statement, equal folds once.
type Constants struct {
	folds []Fold
	// assumed says that a sub-select was assumed to have the type of its neighbour.
	assumed bool
}

// Add returns the index of the fold, which it adds if necessary.
func (c *Constants) Add(f Fold) int {
	for i, have := range c.folds {
		if have.SQL == f.SQL && have.Type == f.Type && have.Concealed == f.Concealed && have.Unknown == f.Unknown {
			return i
		}
	}
	c.folds = append(c.folds, f)
	return len(c.folds) - 1
}

// Folds returns the constants to evaluate, in order.
func (c *Constants) Folds() []Fold { return c.folds }

// Inlined are constants as they are written in text for the mirror.
type Inlined struct {
	texts []string
	folds []Fold
}

// Inlined returns the constants for concealed or for other text. Concealed text refers to other constants as parameters with their values:
// the analyst's own text never runs together with a secret, in a session with other rights than the analyst's. Other text refers to the
// columns in which [Evaluation] computes them, so that each is computed once.
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
	return Inlined{texts, c.folds}
}

// apart writes the parameter for the value of a fold. Values of user-defined types are passed as text: an analyst can define such a type,
// whose checks call the analyst's functions.
func (f Fold) apart(i int) string {
	p := "($" + strconv.Itoa(i+1) + ")"
	if f.Type.Enum.Name == "" || f.Type.Named() {
		return p
	}
	return castSQL(castSQL(p, pgtype.Of(pgtype.Text)), f.Type)
}

// Evaluation writes the constants that are not concealed for one SELECT on the mirror: its columns, in order, and its FROM. A volatile
// constant has a single value there, even if it is a column and part of other constants.
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

// A Value is a constant as the mirror evaluated it; nil Bytes are NULL. Values of user-defined types are texts.
type Value struct {
	OID    uint32
	Binary bool
	Bytes  []byte
	// Unknown is that of the fold.
	Unknown bool
}

// Values are the values of the folds of a statement, in order.
type Values []Value

// Check compares the types of the values with the types of the folds. A difference is a defect of the typing here, or, with a sub-select,
// an assumption about its type that is wrong. Concealed folds are computed from the others, and need not have values yet.
func (c *Constants) Check(values []Value) error {
	if len(values) != len(c.folds) {
		return pgerr.New(pgerr.Internal, "%d constants were evaluated, not %d", len(values), len(c.folds))
	}
	for i, f := range c.folds {
		want, got := f.Type.Wire(), values[i].OID
		switch {
		case f.Concealed && got == 0: // not computed yet
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

// Format is the format in which the value of the fold is requested: text for user-defined types, and otherwise binary, which no setting of
// a session affects.
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
