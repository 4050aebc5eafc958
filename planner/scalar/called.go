package scalar

// A query in FROM gives names to expressions. Where the expression takes the place of the column, it keeps the name for people.

// calledAs is the name of an expression, empty if it has none.
type calledAs struct{ name string }

func (n *calledAs) call(name string) { n.name = name }
func (n *calledAs) called() string   { return n.name }

// Called returns an expression with a name. Columns have their own.
func Called(e Expr, name string) Expr {
	switch e := e.(type) { //nolint:gochecksumtype // the others have none
	case *call:
		own := *e
		own.calledAs.call(name)
		return &own
	case *cast:
		own := *e
		own.calledAs.call(name)
		return &own
	case *choice:
		own := *e
		own.calledAs.call(name)
		return &own
	}
	return e
}

// NameOf returns the name that an expression was given, or the empty text.
func NameOf(e Expr) string {
	if n, ok := e.(interface{ called() string }); ok {
		return n.called()
	}
	return ""
}
