package scalar

import (
	"slices"
	"strings"
)

// A function is an operator or a function of pg_catalog with arguments of certain types.
type function struct {
	name     string
	operator bool
	args     []uint32
	result   uint32
	// over says how the function is computed over columns; nil if only constants may be its arguments.
	over *rule
	// syntax, if not nil, writes a call that has a syntax of its own.
	syntax func(name string, args []string) string
	// strict is the number of leading arguments each of which makes the result NULL if it is NULL.
	strict int
}

// A rule says how a function is computed over columns, for every row.
type rule struct {
	// constants are the indices of arguments that must be constants.
	constants []int
	// constantOf is a type whose arguments must be constants, or 0.
	constantOf uint32
	// least are the smallest allowed values of constant integer arguments, by index; 0 is no bound.
	least map[int]int64
	// texts says that arguments are compared as texts: by their bytes, with one collation.
	texts bool
	// zoned says that the session's time zone matters if an argument is a timestamptz.
	zoned bool
	// bounds returns bounds of the values.
	bounds func(env *Env, c *call) Interval
	// length returns the largest number of characters or octets; nil for functions whose result is not a text.
	length func(env *Env, c *call, u unit) int
	// reads says how much of a long text is read as an argument.
	reads reading
	// cost bounds the steps that the call adds to the cost of its arguments; nil is functionCost.
	cost func(c *costing, e *call) int64
	// makes returns how many octets of a text do not come from a column; nil is the number of the first argument.
	makes func(c *costing, e *call) int
	// narrow notes the intervals of columns if a test is true; nil if the test implies none.
	narrow func(n *narrowing, c *call)
	// excludesNull reports whether a test is never true if x is NULL; nil if strictness decides.
	excludesNull func(c *call, x Expr) bool
	// key, if not nil, writes a group key that replaces the value of the expression.
	key func(w *Writer, c *call) (fragment, error)
	// settles, if not nil, reports whether the function has a single value for all values of its arguments within their intervals, though
	// its own interval does not say so. It serves lists of values alone.
	settles func(env *Env, c *call) bool
	// write returns SQL that cannot raise.
	write func(w *Writer, c *call) (fragment, error)
}

// A reading says how much of an argument is read.
type reading uint8

const (
	readsAll      reading = iota
	readsFirst            // something is looked for in the first argument
	readsCompared         // as much as can matter in a comparison with the other arguments
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

// same reports whether two functions compute alike on equal arguments.
func (f *function) same(o *function) bool {
	return f.name == o.name && f.over == o.over && f.strict == o.strict && slices.Equal(f.args, o.args)
}

// ignoresCase reports whether LIKE is ILIKE.
func (f *function) ignoresCase() bool { return strings.Contains(f.name, "*") }
