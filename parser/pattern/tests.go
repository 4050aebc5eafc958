package pattern

// A Call makes a text from its arguments: first another text, then Texts, and then Numbers.
type Call struct {
	Name    string
	Texts   []string
	Numbers []int
}

// A Text is the searched text, after some calls.
type Text []Call

func (t Text) then(name string, numbers ...int) Text {
	return append(append(Text(nil), t...), Call{Name: name, Numbers: numbers})
}

func (t Text) with(name string, texts ...string) Text {
	return append(append(Text(nil), t...), Call{Name: name, Texts: texts})
}

// A Test compares a text with constants, or with another text made from the same searched text.
type Test struct {
	Of       Text
	Operator string   // ~~, !~~, = or <>
	Values   []string // the test holds if it holds for any of them
	With     Text     // if not nil, it replaces Values
}
