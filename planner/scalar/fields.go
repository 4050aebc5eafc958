package scalar

import (
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

const askForFields = "Ask for a field that the policy declares: data ->> 'key'."

// fieldIn resolves a field of a column: one that the policy declares, whatever the documents hold.
func fieldIn(r *resolution, e *ast.Field) (*Ref, error) {
	x, err := r.resolve(e.X)
	if err != nil {
		return nil, err
	}
	ref, ok := x.(*Ref)
	if !ok || !HasFields(ref.Column.Type) || r.Field == nil {
		return nil, pgerr.New(pgerr.NotAllowed, "fields of a value of type %s are not allowed on protected data here", x.Type()).At(e.At).
			WithHint(askForFields)
	}
	f := FieldAt(ref.Column, e.Keys)
	switch err := r.Field(ref.Column, f, e.At); {
	case err != nil:
		return nil, err
	case f == nil:
		return nil, noField(ref.Column, e)
	}
	return &Ref{f, e.At}, nil
}

// noField refuses a field that the policy does not declare.
func noField(of *Column, e *ast.Field) error {
	if of.Untold {
		return pgerr.New(pgerr.NotAllowed, "a field that the policy does not declare is not allowed on protected data").At(e.At)
	}
	return pgerr.New(pgerr.NotAllowed, "the policy declares no field %s", FieldName(of.Shown(), e.Keys)).At(e.At).
		WithHint("The administrator can declare it: columns: {%s: {fields: {%s: {}}}}.", of.Name, ast.FieldPath(e.Keys))
}

// fieldAsText resolves a field that ->> has.
func fieldAsText(r *resolution, e *ast.Field) (Expr, error) {
	f, err := fieldIn(r, e)
	switch {
	case err != nil:
		return nil, err
	case !e.Text:
		return nil, pgerr.New(pgerr.NotAllowed, "a value of type jsonb is not allowed on protected data").At(e.At).
			WithHint("Use ->> in place of the last ->, and #>> in place of #>.")
	case f.Type().OID == pgtype.Text:
		return f, nil
	case f.Type().OID == pgtype.Date:
		return r.toChar(f, mirrorTerm("'YYYY-MM-DD'", pgtype.Of(pgtype.Text), e.At), e.At)
	case f.Type().Float() || f.Type().Dated():
		return nil, pgerr.New(pgerr.NotAllowed, "the field is a %s by the policy, and as a text it has more than one spelling", f.Type()).
			At(e.At).WithHint("Cast it: (%s)::%s.", f.Column.Shown(), f.Type())
	}
	return r.cast(f, pgtype.Of(pgtype.Text), e.At, nil)
}

// fieldAs resolves a cast of a field: of its value, in whatever type the policy says, and not of a text.
func fieldAs(r *resolution, e *ast.Field, to *ast.Cast) (Expr, error) {
	t, known := pgtype.OfName(to.Type)
	if !known || t.Family() == pgtype.TextFamily || t.Array {
		x, err := fieldAsText(r, e)
		if err != nil {
			return nil, err
		}
		return r.convert(x, to.Type, to.At)
	}
	f, err := fieldIn(r, e)
	if err != nil {
		return nil, err
	}
	if f.Type().OID == pgtype.Text {
		return nil, pgerr.New(pgerr.NotAllowed, "the field %s is a text by the policy, which cannot be cast to %s", f.Column.Shown(), t).
			At(to.At).WithHint("The administrator can declare its type: fields: {%s: {type: %s}}.", ast.FieldPath(e.Keys),
			fieldType(t.OID).Name)
	}
	return r.convert(f, to.Type, to.At)
}
