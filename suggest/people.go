package suggest

import (
	"slices"

	"dpproxy/planner/pgtype"
	"dpproxy/suggest/words"
)

// A class orders the words for people: people whom a database serves come before all others, whatever the direction of foreign keys.
type class int

const (
	served class = iota
	unclassed
	staff
	celebrity // never whom to protect
)

// people is the evidence that the rows of a table are people.
type people struct {
	class class
	// points are the points of its columns and its name, and evidence are the columns.
	points   int
	evidence []string
	// called is the word for people that is the table's name, or ends it; "" if there is none.
	called string
	// firm says that the name is that of companies, and that no column is about birth, gender or a password.
	firm bool
}

// Points of the name of a table.
const (
	alonePoints = 4 // patient, patient_dimension
	endPoints   = 2 // app_user
	// The smallest number of points of people: of a table with such a name, and of another table.
	calledPeople, otherPeople = 4, 5
	// mostPoints bounds the points that count, in addition to the tables that lead there.
	mostPoints = 14
)

// evidence are the groups of columns that people have, with their points. A group counts once.
var evidence = []struct {
	group  string
	points int
}{
	{words.PersonName, 3},
	{words.Birth, 3},
	{words.Gender, 3},
	{words.NationalNumber, 3},
	{words.Password, 3},
	{words.Origin, 2},
	{words.Email, 2},
	{words.Login, 2},
	{words.Phone, 1},
	{words.Street, 1},
	{words.Salary, 1},
}

// are reports whether there are enough points.
func (p people) are() bool {
	if p.called != "" {
		return p.points >= calledPeople
	}
	return p.points >= otherPeople && !p.firm
}

// readPeople gives points to a table.
func (r *relation) readPeople() people {
	p := people{class: unclassed}
	if word, points := r.calledPeople(); points > 0 {
		p.called, p.points, p.class = word, points, classOf(word)
	}
	for _, e := range evidence {
		for _, f := range r.fields {
			if f.isOf(e.group) && (p.called != "" || !f.namesContact()) {
				p.points += e.points
				p.evidence = append(p.evidence, f.Name)
				break
			}
		}
	}
	p.firm = words.Is(r.row(), words.Tenant) && !slices.ContainsFunc(r.fields, func(f *field) bool {
		return f.isOf(words.Birth) || f.isOf(words.Gender) || f.isOf(words.Password)
	})
	return p
}

func classOf(word string) class {
	switch {
	case words.Is(word, words.Served):
		return served
	case words.Is(word, words.Celebrity):
		return celebrity
	case words.Is(word, words.Staff):
		return staff
	}
	return unclassed
}

// calledPeople returns the word for people in the name of a table, and its points.
func (r *relation) calledPeople() (word string, points int) {
	isPeople := func(w string) bool { return words.Is(w, words.Served, words.Staff, words.Celebrity, words.Beside) }
	if before, ok := r.beforeBase(); ok && isPeople(before) {
		return before, alonePoints
	}
	switch n := len(r.words); {
	case n == 0 || !isPeople(r.words[n-1]):
		return "", 0
	case n == 1:
		return r.words[0], alonePoints
	default:
		return r.words[n-1], endPoints
	}
}

// isOf reports whether a column belongs to a group of columns that people have. A column of a foreign key describes another table.
func (f *field) isOf(group string) bool {
	if f.foreign {
		return false
	}
	text := f.fam == pgtype.TextFamily || f.fam == pgtype.NoFamily
	if f.lists() && slices.Contains([]string{words.PersonName, words.Email, words.Login, words.Phone, words.Street, words.Salary}, group) {
		return false
	}
	switch group {
	case words.PersonName:
		return text && (words.Has(f.words, group) || f.namesPerson())
	case words.Birth:
		return f.fam != pgtype.BoolFamily && words.Has(f.words, group) && !words.Has(f.words, words.Ageless)
	case words.Gender:
		return words.Has(f.words, group)
	case words.NationalNumber:
		return f.fam != pgtype.BoolFamily && !f.times() && words.Has(f.words, group)
	case words.Street:
		return text && words.Has(f.words, group) && !f.identifier() && !words.Has(f.words, words.Machine, words.Email)
	case words.Phone:
		return f.fam != pgtype.BoolFamily && !f.times() && words.Has(f.words, group)
	case words.Salary:
		return words.Has(f.words, group) && !f.numbers()
	case words.Origin:
		return f.fam != pgtype.BoolFamily && words.Has(f.words, group) && !f.numbers()
	}
	return text && words.Has(f.words, group) && !words.Has(f.words, words.Quantity)
}

// namesPerson reports whether a column is the name of a person, such as visitor_name.
func (f *field) namesPerson() bool {
	n := len(f.words)
	return n > 1 && words.Is(f.words[n-1], words.Name) && words.Is(f.words[n-2], words.Served, words.Staff, words.Beside) &&
		!words.Has(f.words, words.Login)
}

// namesContact reports whether a column is the name of a contact: the contact of a company, which is itself not a person.
func (f *field) namesContact() bool {
	n := len(f.words)
	return n > 1 && f.namesPerson() && words.Is(f.words[n-2], words.Beside)
}

// isPerson reports whether a text is the name of a person instead of a number, such as clerk or manager.
func (f *field) isPerson() bool {
	return f.fam == pgtype.TextFamily && !f.foreign && words.Is(last(f.words), words.Served, words.Staff, words.Beside)
}
