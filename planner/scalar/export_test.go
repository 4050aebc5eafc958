package scalar

// A Signature is a function or an operator that columns may be arguments of.
type Signature struct {
	Name     string
	Operator bool
	Args     []uint32
}

// Allowed lists the functions and operators that columns may be arguments of.
func Allowed() []Signature {
	var all []Signature
	for _, table := range []map[string][]*function{operators, functions} {
		for _, list := range table {
			for _, f := range list {
				if f.over != nil {
					all = append(all, Signature{f.name, f.operator, f.args})
				}
			}
		}
	}
	return all
}
