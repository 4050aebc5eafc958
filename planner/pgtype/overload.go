package pgtype

import "slices"

// castable lists the implicit casts between built-in types (pg_cast).
var castable = map[uint32][]uint32{
	Int2:      {Int4, Int8, Numeric, Float4, Float8},
	Int4:      {Int8, Numeric, Float4, Float8},
	Int8:      {Numeric, Float4, Float8},
	Numeric:   {Float4, Float8},
	Float4:    {Float8},
	Date:      {Timestamp, Timestamptz},
	Timestamp: {Timestamptz},
	Time:      {Timetz, Interval},
	Text:      {Varchar, Bpchar, Name},
	Varchar:   {Text, Bpchar, Name},
	Bpchar:    {Text, Varchar, Name},
	Name:      {Text},
}

// implicit reports whether a value of one type becomes one of the other by itself.
func implicit(from, to uint32) bool {
	return from == to || slices.Contains(castable[from], to)
}

// An Overload is one of the functions, or operators, of a name.
type Overload interface {
	// Arguments are the OIDs of the types that it takes.
	Arguments() []uint32
}

// Pick chooses among functions of one name as Postgres does (func_select_candidate
// in src/backend/parser/parse_func.c); [Unknown] is the type of untyped literals. ok is false
// if there is none, or no best one.
func Pick[F Overload](candidates []F, args []uint32) (f F, ok bool) {
	fits := keep(candidates, func(f F) bool { return takes(f, args) })
	for _, better := range []func([]F, []uint32) []F{mostExact[F], mostPreferred[F], sameCategory[F], sameAsOthers[F]} {
		if len(fits) <= 1 {
			break
		}
		if best := better(fits, args); len(best) > 0 {
			fits = best
		}
	}
	if len(fits) != 1 {
		return f, false
	}
	return fits[0], true
}

// PickOperator is Pick for operators: an untyped operand of a binary operator is taken
// for one of the other's type first (oper in src/backend/parser/parse_oper.c).
func PickOperator[F Overload](candidates []F, args []uint32) (f F, ok bool) {
	if len(args) == 2 && (args[0] == Unknown) != (args[1] == Unknown) {
		known := args[0]
		if known == Unknown {
			known = args[1]
		}
		if f, ok := Pick(keep(candidates, func(f F) bool { return slices.Equal(f.Arguments(), []uint32{known, known}) }), args); ok {
			return f, true
		}
	}
	return Pick(candidates, args)
}

func keep[F any](list []F, ok func(F) bool) []F {
	var kept []F
	for _, f := range list {
		if ok(f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// takes reports whether the arguments become those of f by themselves.
func takes[F Overload](f F, args []uint32) bool {
	return slices.EqualFunc(args, f.Arguments(), func(from, to uint32) bool { return from == Unknown || implicit(from, to) })
}

// most keeps the functions of which most arguments meet a test.
func most[F Overload](list []F, args []uint32, test func(from, to uint32) bool) []F {
	score := func(f F) (n int) {
		for i, to := range f.Arguments() {
			if test(args[i], to) {
				n++
			}
		}
		return n
	}
	best := 0
	for _, f := range list {
		best = max(best, score(f))
	}
	return keep(list, func(f F) bool { return score(f) == best })
}

func mostExact[F Overload](list []F, args []uint32) []F {
	return most(list, args, func(from, to uint32) bool { return from == to })
}

func mostPreferred[F Overload](list []F, args []uint32) []F {
	return most(list, args, func(from, to uint32) bool {
		return from == to || from != Unknown && preferred(to) && category(from) == category(to)
	})
}

func preferred(oid uint32) bool { return builtins[oid].preferred }

func category(oid uint32) byte { return builtins[oid].category }

// sameCategory decides by the untyped arguments: each is taken for a text where one is possible,
// else for one of the one category that is possible, of a preferred type if there is one.
func sameCategory[F Overload](list []F, args []uint32) []F {
	slots := make([]slot, len(args))
	for i, a := range args {
		ok := true
		if a == Unknown {
			slots[i], ok = slotOf(list, i)
		}
		if !ok {
			return nil
		}
	}
	return keep(list, func(f F) bool {
		for i, to := range f.Arguments() {
			if args[i] == Unknown && (category(to) != slots[i].category || slots[i].preferred && !preferred(to)) {
				return false
			}
		}
		return true
	})
}

// A slot says how an untyped argument is taken.
type slot struct {
	category  byte
	preferred bool // only a preferred type of the category
}

// slotOf looks at an argument of all functions; ok is false where they take values of several
// categories, and no text.
func slotOf[F Overload](list []F, arg int) (s slot, ok bool) {
	const text = 'S'
	ok = true
	for i, f := range list {
		to := f.Arguments()[arg]
		switch c := category(to); {
		case i == 0, c == text && s.category != text:
			s = slot{c, preferred(to)}
		case c == s.category:
			s.preferred = s.preferred || preferred(to)
		default:
			ok = false
		}
	}
	return s, ok || s.category == text
}

// sameAsOthers takes untyped arguments for ones of the type that all others have.
func sameAsOthers[F Overload](list []F, args []uint32) []F {
	known := uint32(Unknown)
	for _, a := range args {
		if a == Unknown {
			continue
		}
		if known != Unknown && known != a {
			return nil
		}
		known = a
	}
	if known == Unknown {
		return nil
	}
	same := slices.Repeat([]uint32{known}, len(args))
	return keep(list, func(f F) bool { return takes(f, same) })
}
