package scalar

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// literal types a literal as Postgres does.
func literal(c *ast.Const) operand {
	t := typ(oidUnknown)
	switch c.Kind {
	case ast.Integer:
		t = typ(oidInt4)
	case ast.Number:
		t = typ(oidNumeric)
		if n, err := strconv.ParseInt(c.Text, 10, 64); err == nil {
			t = typ(oidInt8)
			if n == math.MinInt32 { // its sign is part of the literal only after the lexer
				t = typ(oidInt4)
			}
		}
	case ast.Boolean:
		t = typ(oidBool)
	case ast.String, ast.Null:
	}
	return free(c.SQL(), t, c.At)
}

func (r *Resolver) param(p *ast.Param) (operand, error) {
	if p.N < 1 || p.N > len(r.Params) {
		return operand{}, pgerr.New(pgerr.Internal, "a parameter without a type").At(p.At)
	}
	oid := r.Params[p.N-1]
	t, ok := typeOfOID(oid)
	switch {
	case oid >= firstUserOID:
		t = Type{OID: firstUserOID, Enum: catalog.Name{Name: anyName}, Mod: -1, Deterministic: true}
	case !ok:
		return operand{}, notAllowed("a parameter of this type", p.At)
	}
	return free("$"+strconv.Itoa(p.N), t, p.At), nil
}

// anyName stands for the name of a parameter's user-defined type: only its OID on the
// mirror is known.
const anyName = "(user-defined)"

// named reports whether a user-defined type is one that the client has named: what
// there is of it on the mirror need not be in the protected database.
func (t Type) named() bool { return t.OID == firstUserOID }

// mayBe reports whether a type that the client has named could be that of a column. The
// mirror finds out: it casts the constant to the column's type.
func (t Type) mayBe(column Type) bool {
	return t.Enum.Name == anyName || t.Enum.Name == column.Enum.Name && (t.Enum.Schema == "" || t.Enum.Schema == column.Enum.Schema)
}

// valueFunction types CURRENT_DATE and its kin.
func valueFunction(e *ast.ValueFunc) (operand, error) {
	name, _, _ := strings.Cut(e.Name, "(")
	switch name {
	case "CURRENT_DATE":
		return free(e.Name, typ(oidDate), e.At), nil
	case "CURRENT_TIMESTAMP":
		return free(e.Name, typ(oidTimestamptz), e.At), nil
	case "LOCALTIMESTAMP":
		return free(e.Name, typ(oidTimestamp), e.At), nil
	case "CURRENT_TIME":
		return free(e.Name, typ(oidTimetz), e.At), nil
	case "LOCALTIME":
		return free(e.Name, typ(oidTime), e.At), nil
	case "CURRENT_USER", "CURRENT_ROLE", "SESSION_USER", "USER", "CURRENT_CATALOG", "CURRENT_SCHEMA":
		return free(castSQL(e.Name, typ(oidText)), typ(oidText), e.At), nil
	}
	return operand{}, notAllowed(e.Name, e.At)
}

// explicit resolves a cast that the client wrote.
func (r *Resolver) explicit(e *ast.Cast) (operand, error) {
	o, err := r.resolve(e.X)
	if err != nil {
		return operand{}, err
	}
	return r.convert(o, e.Type, e.At)
}

// convert casts an operand to a type that the client named.
func (r *Resolver) convert(o operand, to ast.TypeName, at int) (operand, error) {
	t, ok := typeNamed(to)
	if !ok {
		return operand{}, notAllowed("a cast to this type", at)
	}
	if o.free() {
		name := t.SQL()
		if len(to.Mods) > 0 {
			name = withModifiers(name, to.Mods)
		}
		return free("CAST("+o.sql+" AS "+name+")", t, at), nil
	}
	if o.typ.same(t) && t.Mod < 0 {
		if o.typ.Domain.Name == "" {
			return o, nil
		}
		t.Mod, t.Undeclared = o.typ.Mod, true
	}
	if o.typ.OID == oidDate && (t.OID == oidText || t.OID == oidVarchar) {
		return r.dateText(o, t, at)
	}
	return r.cast(o, t, at)
}

func withModifiers(name string, mods []int32) string {
	words := make([]string, len(mods))
	for i, m := range mods {
		words[i] = strconv.Itoa(int(m))
	}
	bare, array := strings.CutSuffix(name, "[]")
	name = bare + "(" + strings.Join(words, ", ") + ")"
	if array {
		name += "[]"
	}
	return name
}

// typeNamed returns the type that a cast names. A name that is not of pg_catalog
// is a user-defined type.
func typeNamed(n ast.TypeName) (Type, bool) {
	t := Type{Mod: -1, Deterministic: true, Array: n.Array}
	if n.Schema == "" || n.Schema == "pg_catalog" {
		for oid, info := range typeInfos {
			if info.name == n.Name {
				t.OID = oid
			}
		}
	}
	switch {
	case t.OID == 0 && n.Schema == "pg_catalog":
		return Type{}, false
	case t.OID == 0:
		t.OID, t.Enum = firstUserOID, catalog.Name{Schema: n.Schema, Name: n.Name}
		return t, len(n.Mods) == 0
	}
	t.Mod = modifier(t.OID, n.Mods)
	return t, true
}

// modifier packs a type's modifiers as Postgres does.
func modifier(oid uint32, mods []int32) int32 {
	switch {
	case len(mods) == 0:
	case oid == oidNumeric && len(mods) == 1:
		return mods[0]<<16 + 4
	case oid == oidNumeric:
		return (mods[0]<<16 | mods[1]&0x7ff) + 4
	case oid == oidVarchar || oid == oidBpchar:
		return mods[0] + 4
	case len(mods) == 1:
		return mods[0]
	}
	return -1
}

// array resolves ARRAY[...] of constants.
func (r *Resolver) array(e *ast.Array) (operand, error) {
	ops, err := r.all(e.Elems...)
	if err != nil {
		return operand{}, err
	}
	if !allFree(ops) {
		return operand{}, notAllowed("an array with a column in it", e.At)
	}
	t, ok := common(ops)
	if !ok || t.Array {
		return operand{}, pgerr.New(pgerr.NotAllowed, "an array of values of different types is not allowed on protected data").At(e.At).
			WithHint("Cast the elements to one type.")
	}
	bare := slices.ContainsFunc(ops, operand.isBare)
	for i := range ops {
		if ops[i], err = r.coerce(ops[i], t); err != nil {
			return operand{}, err
		}
	}
	t.Array = true
	sql := "ARRAY[" + strings.Join(texts(ops), ", ") + "]"
	if !bare { // a cast would hide of what type a sub-select is
		sql = "CAST(" + sql + " AS " + t.SQL() + ")"
	}
	return free(sql, t, e.At), nil
}

// sql writes a call of constants for the mirror.
func (f *function) sql(args ...string) string {
	switch {
	case !f.operator:
		return "pg_catalog." + ast.QuoteIdent(f.name) + "(" + strings.Join(args, ", ") + ")"
	case len(args) == 1:
		return "(OPERATOR(pg_catalog." + f.name + ") " + args[0] + ")"
	}
	return "(" + args[0] + " OPERATOR(pg_catalog." + f.name + ") " + args[1] + ")"
}

// title names the function in a refusal.
func (f *function) title() string {
	if f.operator {
		return "the operator " + f.name
	}
	return f.name + "()"
}

// Check compares the types of the values with those that the folds must have. A
// difference is a defect: the folds were typed otherwise than Postgres does. With a
// sub-select, it may be that it does not have the type of what is beside it. Those that are
// concealed are computed from the others, and need have no value yet.
func (c *Constants) Check(values []Value) error {
	if len(values) != len(c.folds) {
		return pgerr.New(pgerr.Internal, "%d constants were evaluated, not %d", len(values), len(c.folds))
	}
	for i, f := range c.folds {
		want, got := f.Type.wire(), values[i].OID
		switch {
		case f.Concealed && got == 0: // not yet
		case got == want || want == 0 && got >= firstUserOID && !values[i].Binary:
		case c.assumed:
			return untyped(f.At)
		default:
			return pgerr.New(pgerr.Internal, "a constant of type %s has another type when it is computed", f.Type).At(f.At).
				WithHint("Cast it to the type that it should have.")
		}
	}
	return nil
}
