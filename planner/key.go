package planner

import (
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A key is one grouping expression.
type key struct {
	expr scalar.Expr
	typ  pgtype.Type
	at   int
}

func newKey(r *scalar.Resolver, e ast.Expr) (*key, error) {
	x, err := r.Expr(e)
	if err != nil {
		return nil, err
	}
	k := &key{expr: x, typ: x.Type(), at: e.Pos()}
	if _, err := scalar.KeyText(k.typ, ""); err != nil {
		return nil, pgerr.New(pgerr.PrivateGroupKey, "protected rows cannot be grouped by values of type %s", k.typ).At(k.at).
			WithHint("Equal values of this type can look different. Cast the key to text, numeric or date.")
	}
	return k, nil
}

// A factor is some keys of a block whose public values are known together, as rows of texts. The domain of the block is the product of its
// factors, which are functions of the policy, the statement and public rows alone.
type factor struct {
	keys []int
	rows [][]*string // if fold is negative, and the mirror is not asked later
	fold int         // a constant that contains the rows as JSON
	// later says that the mirror is asked for the rows once constants are known; at is the place among the lists of the statement.
	later bool
	at    int
	// types are those of the keys in the rows that the mirror has; that of a key is unknown if constants decide it.
	types []pgtype.Type
	// declared are the columns of protected tables of which the rows have declared values alone.
	declared []*scalar.Column
}
