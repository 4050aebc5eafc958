package planner

import (
	"dpproxy/catalog"
	"dpproxy/planner/scalar"
)

// OIDs of the built-in types that may meet protected rows. They are the same in
// every Postgres.
const (
	oidBool        = 16
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidText        = 25
	oidFloat4      = 700
	oidFloat8      = 701
	oidUnknown     = 705
	oidBpchar      = 1042
	oidVarchar     = 1043
	oidDate        = 1082
	oidTimestamp   = 1114
	oidTimestamptz = 1184
	oidNumeric     = 1700
	oidUUID        = 2950
)

// A family is a group of types whose values compare with each other.
type family uint8

const (
	noFamily family = iota
	boolFamily
	intFamily
	numericFamily
	floatFamily
	textFamily
	dateFamily // date and timestamp without time zone
	instantFamily
	uuidFamily
	enumFamily
)

// familyOf returns the family of a type, noFamily if the type may not be compared
// on protected data.
func familyOf(oid uint32, kind byte) family {
	switch oid {
	case oidBool:
		return boolFamily
	case oidInt2, oidInt4, oidInt8:
		return intFamily
	case oidNumeric:
		return numericFamily
	case oidFloat4, oidFloat8:
		return floatFamily
	case oidText, oidVarchar, oidBpchar:
		return textFamily
	case oidDate, oidTimestamp:
		return dateFamily
	case oidTimestamptz:
		return instantFamily
	case oidUUID:
		return uuidFamily
	}
	if kind == 'e' {
		return enumFamily
	}
	return noFamily
}

// baseOID returns the OID below a domain.
func baseOID(t catalog.TypeRef) uint32 {
	if t.Kind == 'd' {
		return t.BaseOID
	}
	return t.OID
}

// columnFamily returns the family a column compares in.
func columnFamily(t catalog.TypeRef) family {
	if scalar.TypeOf(t, catalog.Name{}, true).Family() == scalar.NoFamily {
		return noFamily
	}
	if t.Kind == 'd' {
		return familyOf(t.BaseOID, 'b')
	}
	return familyOf(t.OID, t.Kind)
}
