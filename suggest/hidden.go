package suggest

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
	"dpproxy/suggest/words"
)

// A secrecy is the reason why a column is hidden.
type secrecy struct {
	// kind is the heading in the summary, such as names.
	kind string
	note string
}

// The headings under which the summary counts hidden columns.
const (
	ofNames     = "names"
	ofContacts  = "contacts"
	ofNumbers   = "numbers"
	ofSecrets   = "secrets"
	ofTraces    = "traces"
	ofFreeText  = "free text"
	ofDocuments = "documents"
	ofOthers    = "other people"
	ofRest      = "others"
)

// Lengths of texts, in characters.
const (
	// longestNote is the length up to which a text can be one of a few values, such as a reason.
	longestNote = 64
	// longestCode is the length up to which a text can be a code of a result, such as positive.
	longestCode = 20
	// shortestHash is the length from which on a text of fixed length is taken for a digest.
	shortestHash = 16
)

// secret says why a column of a protected table must be hidden, because it identifies a person or is free text; its kind is empty if it
// need not be. Other texts are shown: as a grouping key a value appears only if enough people have it.
func (d inspector) secret(t *Table, f *field) secrecy {
	_, refers := t.byName(f.Name)
	switch {
	case f.Name == t.Unit || refers && slices.Contains(t.SamePerson, f.Name) || f.foreign && !d.isPerson(t, f):
		return secrecy{}
	case d.isPerson(t, f):
		return secrecy{ofOthers, "the number of another person, whom this row does not protect"}
	case f.fam == pgtype.NoFamily && f.Type.Kind != 'e':
		return d.secretDocument(f)
	case f.fam == pgtype.BoolFamily, f.fam == pgtype.EnumFamily, f.times():
		return secrecy{}
	}
	if s := f.secretWords(); s.kind != "" {
		return s
	}
	switch {
	case d.numbersUnit(f):
		return secrecy{ofNumbers, "another number of the " + d.UnitName}
	case f.fam == pgtype.TextFamily:
		return d.secretText(t, f)
	case f.fam == pgtype.UUIDFamily && f.of.people.are() && !f.ownKey() && d.keysTo(f.of, f.Name) == 0:
		return secrecy{ofNumbers, "no two rows have the same"}
	}
	return secrecy{}
}

// isPerson reports whether a column refers to another person: another unit, or somebody whom nothing protects here.
func (d inspector) isPerson(t *Table, f *field) bool {
	if slices.Contains(t.Via, f.Name) || d.looksUp(t, f) {
		return false
	}
	if slices.ContainsFunc(f.of.foreign, func(fk catalog.ForeignKey) bool {
		return slices.Contains(fk.Columns, f.Name) && len(fk.Columns) == 1 && d.isOtherPeople(fk.References)
	}) {
		return true
	}
	if slices.ContainsFunc(d.unit.persons(f.of), func(p person) bool {
		return slices.Contains(p.columns(), f.Name) && slices.Contains(t.NotProtected, f.Name)
	}) || t.Distance == 0 && slices.Contains(t.NotProtected, f.Name) || d.refersToPeople(t, f) {
		return true
	}
	end := last(f.stem())
	if f.foreign || len(f.stem()) == 1 && end == "parent" || d.callsProtected(f) { // a parent row, or a row of another table
		return false
	}
	other := f.fam == d.unit.column.fam && identifies(f.Column) && f.Name != t.Unit && !inKey(f.of.Table, f.Name)
	if other && !f.lists() && !words.Has(f.words, words.Quantity) {
		ofUnit := slices.ContainsFunc(f.words, func(w string) bool { return slices.Contains(d.unit.words, w) })
		if f.fam != pgtype.TextFamily && ofUnit || f.numbers() && words.Is(end, words.Owner, words.Role) || end == "by" {
			return true
		}
	}
	others := slices.ContainsFunc(d.called[end], func(r *relation) bool { return d.isOtherPeople(r.Name) })
	return f.numbers() && (others || !slices.Contains(f.of.key(), f.Name)) && end != "" && end != f.of.row() &&
		words.Is(end, words.Served, words.Staff, words.Beside)
}

// numbersUnit reports whether the name of a column is that of a number of the unit, but not the number that the policy uses: for example
// the number that another database uses.
func (d inspector) numbersUnit(f *field) bool {
	st := f.stem()
	return f.numbers() && !f.foreign && len(st) == 1 && slices.Contains(d.unit.words, st[0]) && f.Name != d.unit.column.Name
}

// callsProtected reports whether a column is named after a protected table, with whose rows it may be joined.
func (d inspector) callsProtected(f *field) bool {
	return f.numbers() && slices.ContainsFunc(d.called[last(f.stem())], func(r *relation) bool {
		return r.Name != d.Unit.Table && d.Table(r.Name) != nil && r != f.of
	})
}

// refersToPeople reports whether a column that does not protect refers to a table of people.
func (d inspector) refersToPeople(t *Table, f *field) bool {
	return slices.Contains(t.NotProtected, f.Name) && slices.ContainsFunc(f.of.foreign, func(fk catalog.ForeignKey) bool {
		return slices.Contains(fk.Columns, f.Name) && d.rels[fk.References].people.are()
	})
}

// secretDocument is secret for types that statements cannot use.
func (inspector) secretDocument(f *field) secrecy {
	if s := f.secretWords(); s.kind != "" {
		return s
	}
	return secrecy{ofDocuments, f.Type.Display + ", of which nothing can be asked"}
}

// secretWords is secret by the name of a column alone.
func (f *field) secretWords() secrecy {
	open := words.Has(f.words, words.Open) && !words.Is(last(f.words), words.Name, words.Title)
	switch {
	case f.isOf(words.PersonName), f.isPerson(), f.fam == pgtype.TextFamily && words.Has(f.words, words.BearerName):
		return secrecy{ofNames, "a person's name"}
	case f.isOf(words.Password):
		return secrecy{ofSecrets, "a password"}
	case f.isOf(words.NationalNumber):
		return secrecy{ofNumbers, "a number of a person"}
	case f.isOf(words.Email), f.isOf(words.Login), f.isOf(words.Phone):
		return secrecy{ofContacts, "how to reach somebody"}
	case open:
		return secrecy{}
	case f.isOf(words.Street):
		return secrecy{ofContacts, "where somebody lives"}
	case words.Has(f.words, words.AccountNumber, words.PersonNumber) && !f.ownKey():
		return secrecy{ofNumbers, "a number of a person, an account or a thing of theirs"}
	case words.Has(f.words, words.SecretColumn) && !f.numbersRow():
		return secrecy{ofSecrets, "a secret, or a digest of one"}
	case words.Has(f.words, words.Machine):
		return secrecy{ofTraces, "a trace of somebody's machine"}
	case words.Has(f.words, words.Picture) && (f.fam == pgtype.TextFamily || f.fam == pgtype.NoFamily):
		return secrecy{ofTraces, "it leads to a page, a file or a picture"}
	case words.Has(f.words, words.Coordinates):
		return secrecy{ofContacts, "where somebody is"}
	}
	return secrecy{}
}

// ownKey reports whether a column is the key of its table.
func (f *field) ownKey() bool { return slices.Equal(f.of.key(), []string{f.Name}) }

// numbersRow reports whether a word such as key only marks the identifier of a row: date_key.
func (f *field) numbersRow() bool {
	end := last(f.words)
	if f.fam == pgtype.TextFamily && end == "key" && !f.foreign {
		return f.ownKey()
	}
	return f.ownKey() || len(f.words) > 1 && words.Is(end, words.Identifier) && words.Find(f.words, words.SecretColumn) == end
}

// secretText is secret for texts whose names decide nothing.
func (d inspector) secretText(t *Table, f *field) secrecy {
	length := f.length()
	switch {
	case f.Type.BaseOID == pgtype.Bpchar && length >= shortestHash:
		return secrecy{ofSecrets, "a text of fixed length, as digests are"}
	case f.of.people.are() && len(f.words) == 1 && words.Is(f.words[0], words.BareName):
		return secrecy{ofNames, "a person's name"}
	case slices.Equal(f.words, []string{"code"}) && words.Has(f.of.words, words.Bearer):
		return secrecy{ofSecrets, "who has it can use it"}
	case words.Is(last(f.words), words.Name) && (t.Distance == 0 || f.of.people.are() || f.of.namesPeople()):
		return secrecy{ofNames, "a name in a table of people"}
	case words.Has(f.words, words.Open) && !words.Is(last(f.words), words.Title):
		return secrecy{}
	case words.Has(f.words, words.Title) && words.Has(f.of.words, words.Writing, words.Attachment),
		words.Has(f.words, words.Title) && !words.Is(last(f.words), words.Title):
		return secrecy{ofFreeText, "what somebody writes"}
	case words.Has(f.words, words.LongText) && (length == 0 || length > longestNote):
		return secrecy{ofFreeText, "free text, or long enough for it"}
	case words.Has(f.words, words.FreeText, words.Payload) && !words.Is(last(f.words), words.Lookup, words.Title):
		return secrecy{ofFreeText, "free text"}
	case f.isResult() && (length == 0 || length > longestCode):
		return secrecy{ofFreeText, "a result, which may be any text"}
	case f.of.isSetting(f), length == 0 && words.Is(f.of.row(), words.Writing):
		return secrecy{ofFreeText, "it may hold anything"}
	case f.isQuoted():
		return secrecy{ofNumbers, "a number that somebody knows the row by"}
	case last(f.words) == "identifier", f.identifier() && !slices.Contains(f.of.key(), f.Name) && !d.knownTable(f):
		return secrecy{ofNumbers, "a number of something that the database does not know of"}
	case d.uniqueAlone(f):
		return secrecy{ofNumbers, "no two rows have the same"}
	}
	return secrecy{}
}

// isQuoted reports whether a text is a number by which people refer to a booking or an invoice: number, reference.
func (f *field) isQuoted() bool {
	bare := len(f.words) == 1 && (words.Is(f.words[0], words.Identifier) || f.words[0] == "reference")
	return bare && !slices.Contains(f.of.key(), f.Name)
}

// namesPeople reports whether a table has names of people, such as user_name_changes.
func (r *relation) namesPeople() bool {
	return words.Has(r.words, words.Served) && words.Has(r.words, words.Name)
}

// knownTable reports whether a column is named after a table with a key of the same type family.
func (d inspector) knownTable(f *field) bool {
	st := f.stem()
	return len(st) > 0 && slices.ContainsFunc(d.called[last(st)], func(r *relation) bool {
		key := r.key()
		return len(key) == 1 && r.field(key[0]).fam == f.fam
	})
}

// length returns the largest number of characters of a text, or 0 if it is unlimited.
func (f *field) length() int {
	mod := f.Type.Mod
	if f.Type.Kind == 'd' {
		mod = f.Type.BaseMod
	}
	return max(0, int(mod)-4)
}

// uniqueAlone reports whether a text is a key by itself to which no other table refers.
func (d inspector) uniqueAlone(f *field) bool {
	if !slices.ContainsFunc(f.of.Keys, func(k catalog.Key) bool { return slices.Equal(k.Columns, []string{f.Name}) }) {
		return false
	}
	return !slices.ContainsFunc(d.referring[f.of.Name], func(from *relation) bool {
		return slices.ContainsFunc(from.foreign, func(fk catalog.ForeignKey) bool {
			return fk.References == f.of.Name && slices.Contains(fk.Target, f.Name)
		})
	}) && (!f.ownKey() || !f.numbers())
}
