package sqltext

// If units need not be persons, a unit is a text that begins with one of these letters.
const (
	Person  = "p" // then the identifier of the person
	Unowned = "n" // then the table and the key of a row without a person: the row itself is protected
	Open    = "o" // likewise, of a row that concerns nobody
)

// OfPerson writes such a text for the identifier of a person: an integer, a text or a uuid. Each identifier has exactly one text.
func OfPerson(sql string) string { return "'" + Person + "' || CAST(" + sql + " AS pg_catalog.text)" }
