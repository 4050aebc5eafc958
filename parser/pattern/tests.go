package pattern

// A Call makes a text of another, its first argument: texts are the next, and then numbers.
type Call struct {
	Name    string
	Texts   []string
	Numbers []int
}

// A Text is the text that is searched, after some calls.
type Text []Call

func (t Text) then(name string, numbers ...int) Text {
	return append(append(Text(nil), t...), Call{Name: name, Numbers: numbers})
}

func (t Text) with(name string, texts ...string) Text {
	return append(append(Text(nil), t...), Call{Name: name, Texts: texts})
}

// A Test compares a text with a constant, or with another of the same searched one.
type Test struct {
	Of       Text
	Operator string   // ~~, !~~, = or <>
	Values   []string // of which one must be so
	With     Text     // if not nil, instead of them
}
