package scalar

import (
	"slices"
	"strings"
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
	// cost bounds the steps that the call adds to the cost of its arguments; nil for that of
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

// Arguments implements pgtype.Overload.
func (f *function) Arguments() []uint32 { return f.args }

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
