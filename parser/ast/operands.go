package ast

import (
	"reflect"
	"slices"
)

// Operands returns the expressions directly below x, at its query level: those of a
// query in x are not among them.
func Operands(x Expr) []Expr {
	places := operands(x)
	out := make([]Expr, 0, len(places))
	for _, p := range places {
		if *p != nil {
			out = append(out, *p)
		}
	}
	return out
}

// operands are the places of the expressions directly below x; there is nil in those of an operand that x does not have.
func operands(x Expr) []*Expr {
	switch x := x.(type) {
	case *Column, *Const, *Param, *ValueFunc, *Exists, *ValueQuery, *Subquery:
		return nil
	case *Cast:
		return []*Expr{&x.X}
	case *Op:
		return []*Expr{&x.Left, &x.Right}
	case *Bool:
		return places(x.Args)
	case *In:
		return append([]*Expr{&x.X}, places(x.List)...)
	case *Between:
		return []*Expr{&x.X, &x.Low, &x.High}
	case *Searched:
		return []*Expr{&x.X}
	case *Field:
		return []*Expr{&x.X}
	case *IsNull:
		return []*Expr{&x.X}
	case *BoolTest:
		return []*Expr{&x.X}
	case *Distinct:
		return []*Expr{&x.Left, &x.Right}
	case *Func:
		return places(x.Args)
	case *Case:
		return x.operands()
	case *Array:
		return places(x.Elems)
	case *AnyOf:
		return []*Expr{&x.Left, &x.Array}
	case *InQuery:
		return []*Expr{&x.X}
	case *Quantified:
		return []*Expr{&x.X}
	case *Aggregate:
		return append([]*Expr{&x.Within, &x.Filter}, places(x.Args)...)
	case *Window:
		return x.operands()
	}
	return nil
}

func places(list []Expr) []*Expr {
	out := make([]*Expr, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

func (x *Case) operands() []*Expr {
	out := []*Expr{&x.X, &x.Else}
	for i := range x.Whens {
		out = append(out, &x.Whens[i].If, &x.Whens[i].Then)
	}
	return out
}

// operands are in the order in which SQL has them.
func (x *Window) operands() []*Expr {
	all := append(append(places(x.Args), &x.Filter), places(x.Partition)...)
	for i := range x.Order {
		all = append(all, &x.Order[i].X)
	}
	for i := range x.Ends {
		all = append(all, &x.Ends[i].X)
	}
	return all
}

// Replace returns x with other expressions in the place of those that by has one for: of x, or of what is below it at its query level,
// from the outermost in. Where it changes nothing, it returns x itself; it never changes x.
func Replace(x Expr, by func(Expr) Expr) Expr {
	if x == nil {
		return nil
	}
	if other := by(x); other != nil {
		return other
	}
	out := x
	for i, place := range operands(x) {
		other := Replace(*place, by)
		if other == *place {
			continue
		}
		if out == x {
			out = copied(x)
		}
		*operands(out)[i] = other
	}
	return out
}

// copied is an expression that has lists of its own.
func copied(x Expr) Expr {
	of := reflect.ValueOf(x).Elem()
	out := reflect.New(of.Type())
	out.Elem().Set(of)
	for i := range of.NumField() {
		if list := out.Elem().Field(i); list.Kind() == reflect.Slice {
			list.Set(reflect.AppendSlice(reflect.MakeSlice(list.Type(), 0, list.Len()), list))
		}
	}
	return out.Interface().(Expr)
}

// Alike reports whether expressions are the same but for their positions.
func Alike(x, y Expr) bool { return alike(reflect.ValueOf(x), reflect.ValueOf(y)) }

func alike(x, y reflect.Value) bool {
	if x.Kind() == reflect.Interface || x.Kind() == reflect.Pointer {
		if x.IsNil() || y.IsNil() {
			return x.IsNil() && y.IsNil()
		}
		x, y = x.Elem(), y.Elem()
	}
	if x.Type() != y.Type() {
		return false
	}
	if table, ok := reflect.TypeAssert[TableRef](x); ok {
		other, _ := reflect.TypeAssert[TableRef](y)
		return table.Resolved.Schema == other.Resolved.Schema && table.Resolved.Name == other.Resolved.Name
	}
	switch x.Kind() { //nolint:exhaustive // the others are compared as they are
	case reflect.Interface, reflect.Pointer:
		return alike(x, y)
	case reflect.Struct:
		for i := range x.NumField() {
			if name := x.Type().Field(i).Name; name != "At" && name != "Refusal" && name != "Untied" && !alike(x.Field(i), y.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			if !alike(x.Index(i), y.Index(i)) {
				return false
			}
		}
		return true
	}
	return x.Comparable() && x.Equal(y)
}

// ColumnFree reports whether the value of x is the same for all rows: no column
// occurs in it, no aggregate, and no query but a Subquery.
func ColumnFree(x Expr) bool {
	switch x.(type) {
	case *Column, *InQuery, *Exists, *ValueQuery, *Quantified, *Aggregate, *Window:
		return false
	case *Const, *Param, *ValueFunc, *Subquery, *Cast, *Op, *Bool, *In, *Between, *IsNull, *BoolTest, *Distinct,
		*Searched, *Field, *Func, *Case, *Array, *AnyOf:
	}
	return !slices.ContainsFunc(Operands(x), func(o Expr) bool { return !ColumnFree(o) })
}
