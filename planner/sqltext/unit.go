package sqltext

// A unit that need not be a person is a text that begins with one of these letters.
const (
	Person  = "p" // then the identifier of the person
	Unowned = "n" // of a row without a person, then its table and key: one row is protected
	Open    = "o" // likewise of a row that concerns nobody
)

// OfPerson writes such a text for the identifier of a person: an integer, a text or a uuid, of which each value has one text.
func OfPerson(sql string) string { return "'" + Person + "' || CAST(" + sql + " AS pg_catalog.text)" }
