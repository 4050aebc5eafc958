package pgtype

// A Row is the entry of a type in the table of built-in types.
type Row struct {
	OID       uint32
	Name      string
	Category  byte
	Preferred bool
	Array     uint32
	Send      string
	Size      int
}

// Rows is the table of built-in types.
func Rows() []Row {
	var rows []Row
	for oid, b := range builtins {
		rows = append(rows, Row{oid, b.name, b.category, b.preferred, b.array, b.send, b.size})
	}
	return rows
}

// Implicit reports whether a value of one type becomes one of the other by itself.
var Implicit = implicit
