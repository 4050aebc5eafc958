package scalar

import (
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
)

// A function is an operator or a function of pg_catalog that takes arguments of
// certain types.
type function struct {
	name     string
	operator bool
	args     []uint32
	result   uint32
	// over says how it is computed over columns; nil where constants alone may be
	// its arguments.
	over *rule
	// syntax writes a call that does not look like one of a function or an operator, else nil.
	syntax func(name string, args []string) string
	// strict counts the first arguments of which each makes the result NULL where it is.
	strict int
}

// A rule says how a function is computed over columns, for every row.
type rule struct {
	// constants are the indexes of arguments that must be constants.
	constants []int
	// constantOf is a type whose arguments must be constants, 0 for none.
	constantOf uint32
	// least is how large constant integers must be at least, by their index: 0 where nothing
	// is said.
	least map[int]int64
	// texts says that arguments are compared as texts: by their bytes, in one collation.
	texts bool
	// zoned says that the session's time zone matters if an argument is a timestamptz.
	zoned bool
	// bounds returns where the values lie.
	bounds func(env *Env, c *call) Interval
	// length returns the largest number of characters or octets; nil for functions whose
	// result is no text.
	length func(env *Env, c *call, u unit) int
	// reads says how much is read of an argument that is a long text.
	reads reading
	// cost bounds what the call adds to the cost of its arguments, in steps; nil for that of
	// functions.
	cost func(c *costing, e *call) int64
	// makes returns how many octets of a text are not those of a column; nil for as many as of the
	// first argument.
	makes func(c *costing, e *call) int
	// narrow notes the intervals of columns where a test is true; nil where it tells none.
	narrow func(n *narrowing, c *call)
	// excludesNull reports whether a test is never true where x is NULL; nil where strictness
	// decides.
	excludesNull func(c *call, x Expr) bool
	// key writes a group key that is another value than the expression, and stands for it; else nil.
	key func(w *Writer, c *call) (fragment, error)
	// divides says that the second argument is a divisor.
	divides bool
	// write returns SQL that cannot raise.
	write func(w *Writer, c *call) (fragment, error)
}

// A reading says how much is read of an argument.
type reading uint8

const (
	readsAll      reading = iota
	readsFirst            // something is looked for in the first argument
	readsCompared         // as far as can matter beside the others, with which it is compared
	readsPresence         // whether it is NULL
)

// argOID is how a type appears in the argument lists of functions.
func argOID(t Type) uint32 {
	if t.Array || t.Enum.Name != "" {
		return 0
	}
	return t.OID
}

// pick chooses among functions of one name as Postgres does (func_select_candidate
// in src/backend/parser/parse_func.c); unknown is the type of untyped literals. It
// returns nil if there is none, or no best one.
func pick(candidates []*function, args []uint32) *function {
	fits := keep(candidates, func(f *function) bool { return f.takes(args) })
	for _, better := range []func([]*function, []uint32) []*function{mostExact, mostPreferred, sameCategory, sameAsOthers} {
		if len(fits) <= 1 {
			break
		}
		if best := better(fits, args); len(best) > 0 {
			fits = best
		}
	}
	if len(fits) != 1 {
		return nil
	}
	return fits[0]
}

// pickOperator is pick for operators: an untyped operand of a binary operator is taken
// for one of the other's type first.
func pickOperator(candidates []*function, args []uint32) *function {
	if len(args) == 2 && (args[0] == pgtype.Unknown) != (args[1] == pgtype.Unknown) {
		known := args[0]
		if known == pgtype.Unknown {
			known = args[1]
		}
		if f := pick(keep(candidates, func(f *function) bool { return slices.Equal(f.args, []uint32{known, known}) }), args); f != nil {
			return f
		}
	}
	return pick(candidates, args)
}

func keep[T any](list []T, ok func(T) bool) []T {
	var kept []T
	for _, x := range list {
		if ok(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// takes reports whether the arguments become those of f by themselves.
func (f *function) takes(args []uint32) bool {
	if len(args) != len(f.args) {
		return false
	}
	for i, a := range args {
		if a != pgtype.Unknown && !implicit(a, f.args[i]) {
			return false
		}
	}
	return true
}

// most keeps the functions with the highest score.
func most(list []*function, score func(*function) int) []*function {
	best := 0
	for _, f := range list {
		best = max(best, score(f))
	}
	return keep(list, func(f *function) bool { return score(f) == best })
}

func mostExact(list []*function, args []uint32) []*function {
	return most(list, func(f *function) int {
		n := 0
		for i, a := range args {
			if a == f.args[i] {
				n++
			}
		}
		return n
	})
}

func mostPreferred(list []*function, args []uint32) []*function {
	return most(list, func(f *function) int {
		n := 0
		for i, a := range args {
			if a == f.args[i] || a != pgtype.Unknown && preferred(f.args[i]) && category(a) == category(f.args[i]) {
				n++
			}
		}
		return n
	})
}

func category(oid uint32) byte { return typeInfos[oid].category }

// sameCategory decides by the untyped arguments: for texts where one is possible,
// else for the one category that is possible.
func sameCategory(list []*function, args []uint32) []*function {
	for i, a := range args {
		if a != pgtype.Unknown {
			continue
		}
		want := category(list[0].args[i])
		for _, f := range list {
			switch c := category(f.args[i]); {
			case c == 'S':
				want = c
			case c != want && want != 'S':
				return nil
			}
		}
		list = keep(list, func(f *function) bool { return category(f.args[i]) == want })
		if best := keep(list, func(f *function) bool { return preferred(f.args[i]) }); len(best) > 0 {
			list = best
		}
	}
	return list
}

// sameAsOthers takes untyped arguments for ones of the type that all others have.
func sameAsOthers(list []*function, args []uint32) []*function {
	known := uint32(pgtype.Unknown)
	for _, a := range args {
		if a == pgtype.Unknown {
			continue
		}
		if known != pgtype.Unknown && known != a {
			return nil
		}
		known = a
	}
	if known == pgtype.Unknown {
		return nil
	}
	same := make([]uint32, len(args))
	for i := range same {
		same[i] = known
	}
	return keep(list, func(f *function) bool { return f.takes(same) })
}

// title names the function in a refusal.
func (f *function) title() string {
	if f.operator {
		return "the operator " + f.name
	}
	return f.name + "()"
}

// same reports whether two calls of other arguments compute alike.
func (f *function) same(o *function) bool {
	return f.name == o.name && f.over == o.over && f.strict == o.strict && slices.Equal(f.args, o.args)
}

// ignoresCase reports whether LIKE is ILIKE.
func (f *function) ignoresCase() bool { return strings.Contains(f.name, "*") }
