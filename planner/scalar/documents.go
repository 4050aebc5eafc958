package scalar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// A field of a document, a column of type jsonb, is a value to which the keys of objects lead, and it has a type by the policy. It is NULL
// where the document is, where a key is missing or leads into no object, where there is null, an object or an array, and where Postgres
// could not read what is there as the type. So it has the value that Postgres has wherever Postgres has one of the type, but that
//
//   - a document of more than [StoredDocument] bytes as stored has no fields. Postgres reads all of a document to find a key in it, and
//     takes time in proportion to its length; nothing tells the length before it is read;
//   - values are as Postgres writes them: whole numbers have no point, exponent or blank, a number has at most [longestNumber] characters,
//     and an exponent of two digits; dates are like 2024-12-31, and times like 23:59:59.5, with a zone at the end if the type has one.
//
// The cast cannot raise, since it is of what a pattern has matched, and the pattern matches nothing else than what the type can read.

const (
	// StoredDocument bounds the bytes of a document as stored: a larger one has no fields. Uncompressed there are up to about 90 times as
	// many, or 255 times by lz4.
	StoredDocument = 1 << 12
	// longestNumber bounds the characters of a number that need not be whole. With an exponent of two digits it is a double.
	longestNumber = 200
	// longestMatched is more than the characters that any other pattern matches.
	longestMatched = 64
)

// The costs of reading a field of the largest document: of a text it is read twice, and copied.
const (
	fieldCost     = 1 << 12
	textFieldCost = 1 << 13
)

// A FieldType is a type that a field can have. Of texts that match the pattern the type reads every one: it is a regular expression of
// Postgres without a backslash, which tells characters by their codes.
type FieldType struct {
	Name    string
	OID     uint32
	pattern string // "" of a text, which is as it is
}

// FieldTypes are those that a field can have, the one first that it has where a policy states none.
var FieldTypes = []FieldType{
	{"text", pgtype.Text, ""},
	{"boolean", pgtype.Bool, "^(?:true|false|t|f|yes|no|y|n|on|off|1|0)$"},
	{"smallint", pgtype.Int2, wholes("32767", "32768")},
	{"integer", pgtype.Int4, wholes("2147483647", "2147483648")},
	{"bigint", pgtype.Int8, wholes("9223372036854775807", "9223372036854775808")},
	{"numeric", pgtype.Numeric, number},
	{"double precision", pgtype.Float8, number},
	{"date", pgtype.Date, "^" + day + "$"},
	{"timestamp", pgtype.Timestamp, "^" + day + "(?:[ T]" + clock + ")?$"},
	{"timestamptz", pgtype.Timestamptz, "^" + day + "[ T]" + clock + zone + "$"},
}

// InCatalog is the type as a catalogue has it.
func (t FieldType) InCatalog() catalog.TypeRef {
	_, name, _ := strings.Cut(pgtype.Of(t.OID).SQL(), ".")
	n := catalog.Name{Schema: "pg_catalog", Name: name}
	return catalog.TypeRef{Name: n, OID: t.OID, Mod: -1, Display: t.Name, Base: n, BaseOID: t.OID, BaseMod: -1, Kind: 'b'}
}

// fieldType returns the type of fields with an OID, that of texts if there is none.
func fieldType(oid uint32) FieldType {
	return FieldTypes[max(0, slices.IndexFunc(FieldTypes, func(t FieldType) bool { return t.OID == oid }))]
}

const (
	number = "^[+-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]{1,2})?$"
	clock  = "(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,6})?)?"
	zone   = "(?:Z|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)"
	// day is a day of the years 1 to 9999.
	day = "(?!0000)(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|" +
		"02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)

// wholes matches the whole numbers between the smallest of a type, less its sign, and the largest.
func wholes(largest, smallest string) string {
	return "^(?:[+-]?(?:" + upTo(largest) + ")|-" + smallest + ")$"
}

// upTo matches the numbers of as many digits as n, or fewer, that are not larger.
func upTo(n string) string {
	list := []string{fmt.Sprintf("[0-9]{1,%d}", len(n)-1)}
	for i, c := range []byte(n) {
		if c > '0' {
			list = append(list, fmt.Sprintf("%s[0-%c]%s", n[:i], c-1, strings.Repeat("[0-9]", len(n)-1-i)))
		}
	}
	return strings.Join(slices.Concat(list, []string{n}), "|")
}

// HasFields reports whether a column of a type is one of documents.
func HasFields(t pgtype.Type) bool { return !t.Array && t.OID == pgtype.JSONB }

// NewField returns a field of a column of documents, of one of [FieldTypes].
func NewField(of *Column, keys []string, t pgtype.Type) *Column {
	return &Column{Name: FieldName(of.Name, keys), Path: keys, Type: t, Reach: InDocument, SQL: fieldSQL(of.SQL, keys, t)}
}

// FieldName writes a field of a column for people.
func FieldName(column string, keys []string) string {
	for i, k := range keys {
		arrow := " -> "
		if i == len(keys)-1 {
			arrow = " ->> "
		}
		column += arrow + ast.Quote(k)
	}
	return column
}

// FieldAt returns the field of a column to which keys lead, nil if there is none.
func FieldAt(c *Column, keys []string) *Column {
	i := slices.IndexFunc(c.Fields, func(f *Column) bool { return slices.Equal(f.Path, keys) })
	if i < 0 {
		return nil
	}
	return c.Fields[i]
}

// ReadField writes a field of a table where its column of documents is written in another way.
func ReadField(f *Column, document string) string { return fieldSQL(document, f.Path, f.Type) }

// fieldSQL writes the value of a field.
func fieldSQL(document string, keys []string, t pgtype.Type) string {
	last := len(keys) - 1
	object := document
	for _, k := range keys[:last] {
		object = "(" + object + " OPERATOR(pg_catalog.->) " + key(k) + ")"
	}
	text := "(" + object + " OPERATOR(pg_catalog.->>) " + key(keys[last]) + ")"
	value := asMatched(text, t)
	if t.OID == pgtype.Text {
		value = "CASE WHEN pg_catalog.jsonb_typeof(" + object + " OPERATOR(pg_catalog.->) " + key(keys[last]) +
			") OPERATOR(pg_catalog.=) ANY (ARRAY['string', 'number', 'boolean']) THEN pg_catalog.left(" + text + ", " +
			strconv.Itoa(cutLength) + ") END"
	}
	return "(CASE WHEN pg_catalog.pg_column_size(" + document + ") OPERATOR(pg_catalog.<=) " + strconv.Itoa(StoredDocument) +
		" THEN " + value + " END)"
}

// key writes a key, which must not be taken for the place of an element.
func key(k string) string { return castSQL(ast.Quote(k), pgtype.Of(pgtype.Text)) }

// asMatched writes the value of a text that the pattern of a type matches, of any other NULL.
func asMatched(text string, t pgtype.Type) string {
	pattern := fieldType(t.OID).pattern
	cast := func(text string) string {
		return castSQL("pg_catalog.substring("+text+` COLLATE pg_catalog."C", `+ast.Quote(pattern)+")", t)
	}
	if pattern == number {
		return "CASE WHEN pg_catalog.octet_length(" + text + ") OPERATOR(pg_catalog.<=) " + strconv.Itoa(longestNumber) +
			" THEN " + cast(text) + " END"
	}
	return cast("pg_catalog.left(" + text + ", " + strconv.Itoa(longestMatched) + ")")
}
