package suggest

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
	"dpproxy/suggest/words"
)

func last(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// identifier reports whether the name of a column is that of an identifier of a row, by an ending that has no other meaning.
func (f *field) identifier() bool {
	if f.fam != pgtype.IntFamily && f.fam != pgtype.TextFamily && f.fam != pgtype.UUIDFamily {
		return false
	}
	end := last(f.words)
	return len(f.words) > 0 && f.words[0] == "id" || len(f.words) > 1 && slices.Contains(rowWords, end) || f.fam == pgtype.UUIDFamily
}

// isSetting reports whether a text is the value of something that another text names (name and value, meta_key and meta_value): such
// settings can include secrets.
func (r *relation) isSetting(f *field) bool {
	if f.fam != pgtype.TextFamily || f.foreign || !words.Is(last(f.words), words.Value) {
		return false
	}
	base := f.words[:len(f.words)-1]
	return slices.ContainsFunc(r.fields, func(o *field) bool {
		named := len(o.words) > 0 && slices.Equal(o.words[:len(o.words)-1], base) && words.Is(last(o.words), words.Name, words.Setting)
		return o.fam == pgtype.TextFamily && (named || len(base) > 0 && slices.Equal(o.words, base))
	})
}

// isResult reports whether a column has what was found, measured or answered, and not its kind, name or number.
func (f *field) isResult() bool {
	return words.Has(f.words, words.Result, words.Value) &&
		!words.Is(last(f.words), words.OfValue, words.Lookup, words.Title, words.Name, words.Identifier, words.Generic, words.Quantity)
}

// isCounted reports whether a number identifies something, or is its place among others, so that nobody adds such numbers up.
func (f *field) isCounted() bool {
	whole := f.fam == pgtype.IntFamily || f.fam == pgtype.NumericFamily && f.wholeNumbers()
	return whole && (f.numbers() || words.Is(last(f.words), words.Sequence)) &&
		!words.Has(f.words, words.Value, words.Result, words.Quantity)
}

// wholeNumbers reports whether a numeric has no decimals.
func (f *field) wholeNumbers() bool {
	return pgtype.OfColumn(f.Type, catalog.Name{}, true).Scale() == 0
}

// activity returns the word in a table's name for something that people do or leave; "" if there is none, or if the table lists kinds of it
// or something that belongs to it, such as call_center.
func (r *relation) activity() string {
	end := last(r.words)
	if words.Is(end, words.Lookup) || words.Is(r.words[0], words.LeadingLookup) {
		return ""
	}
	if w := words.Find(r.words, words.Log, words.Job, words.Session, words.Secret, words.Limit); w != "" {
		return w
	}
	w := words.Find(r.words, words.Transaction, words.Attachment, words.Writing)
	if !words.Has([]string{end}, words.Transaction, words.Attachment, words.Writing, words.Component) && words.Known(end) {
		return ""
	}
	return w
}

// rowWords are endings that identify a row of another table. Other numbers, such as of a house or a page, have other endings.
var rowWords = []string{"id", "uuid", "guid", "uid", "key", "sk", "fk", "ref", "xid", "oid"}

// numbers reports whether a column identifies something, by the beginning or the end of its name.
func (f *field) numbers() bool {
	n := len(f.words)
	return n > 0 && (words.Is(f.words[n-1], words.Identifier) || f.words[0] == "id")
}

// stem returns the name of a column without the words that mark an identifier.
func (f *field) stem() []string { return stem(f.words) }

func stem(all []string) []string {
	for len(all) > 0 && words.Is(all[len(all)-1], words.Identifier) {
		all = all[:len(all)-1]
	}
	if len(all) > 0 && all[0] == "id" {
		all = all[1:]
	}
	return all
}

// general reports whether a name fits the columns of any table, such as id, name and code.
func general(all []string) bool {
	return !slices.ContainsFunc(all, func(w string) bool { return !words.Is(w, words.Generic, words.Identifier) })
}

// lists reports whether the name of a column ends with a word for a kind: email_type, phone_type_id.
func (f *field) lists() bool {
	st := f.stem()
	return len(f.words) > 1 && words.Is(last(f.words), words.Lookup) || len(st) > 1 && words.Is(last(st), words.Lookup)
}

// times reports whether the column is a date or a time.
func (f *field) times() bool {
	return slices.Contains([]pgtype.Family{pgtype.DateFamily, pgtype.InstantFamily, pgtype.TimeFamily, pgtype.IntervalFamily}, f.fam)
}

// calls reports whether a column has the name of a key of another table, or of a row of that table with an identifier.
func (f *field) calls(to *relation, key *field) bool {
	st := f.stem()
	return slices.Equal(f.words, key.words) && !general(f.words) || slices.Equal(st, to.words) || len(st) == 1 && st[0] == to.row()
}
