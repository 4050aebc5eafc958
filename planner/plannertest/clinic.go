package plannertest

import (
	"math/big"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// Name is a name in the schema public.
func Name(table string) catalog.Name { return catalog.Name{Schema: "public", Name: table} }

// Builtin is a use of a built-in type; mod is its modifier, -1 without.
func Builtin(typ, display string, oid uint32, mod int32) catalog.TypeRef {
	n := catalog.Name{Schema: "pg_catalog", Name: typ}
	return catalog.TypeRef{Name: n, OID: oid, Mod: mod, Display: display, Base: n, BaseOID: oid, BaseMod: mod, Kind: 'b'}
}

// Types of columns.
var (
	Int4      = Builtin("int4", "integer", 23, -1)
	Bigint    = Builtin("int8", "bigint", 20, -1)
	Text      = Builtin("text", "text", 25, -1)
	Varchar10 = Builtin("varchar", "character varying(10)", 1043, 14)
	Boolean   = Builtin("bool", "boolean", 16, -1)
	Date      = Builtin("date", "date", 1082, -1)
	instant   = Builtin("timestamptz", "timestamp with time zone", 1184, -1)
	Numeric10 = Builtin("numeric", "numeric(10,2)", 1700, (10<<16|2)+4)
	Numeric   = Builtin("numeric", "numeric", 1700, -1)
	Texts     = Builtin("_text", "text[]", 1009, -1)
	Numerics  = Builtin("_numeric", "numeric(10,2)[]", 1231, (10<<16|2)+4)
	Float8    = Builtin("float8", "double precision", 701, -1)
	float4    = Builtin("float4", "real", 700, -1)
	Jsonb     = Builtin("jsonb", "jsonb", 3802, -1)
	place     = catalog.TypeRef{
		Name: Name("place"), OID: 20002, Mod: -1, Display: "place", Base: Name("place"), BaseOID: 20002, BaseMod: -1,
		Kind: 'c',
	}
	mood = catalog.TypeRef{
		Name: Name("mood"), OID: 20001, Mod: -1, Display: "mood", Base: Name("mood"), BaseOID: 20001, BaseMod: -1,
		Kind: 'e',
	}
)

// Column is a column with the default collation.
func Column(n string, t catalog.TypeRef, notNull bool) catalog.Column {
	return catalog.Column{Name: n, Type: t, NotNull: notNull, Deterministic: true}
}

// Primary is a primary key of the column id.
func Primary() []catalog.Key {
	return []catalog.Key{{Name: "pkey", Columns: []string{"id"}, Primary: true}}
}

// References is a foreign key to the column id of a table.
func References(col, table string) catalog.ForeignKey {
	return catalog.ForeignKey{Name: col + "_fkey", Columns: []string{col}, References: Name(table), Target: []string{"id"}}
}

// ServedVersion is the server_version_num that plans are made for.
var ServedVersion = 150000

// ClinicSchema is the schema of the clinic, as a catalogue is read. The foreign key of visits to hospitals is not validated, so that
// groups by hospital are private.
func ClinicSchema() *catalog.Schema {
	tables := []*catalog.Table{
		{Name: Name("patients"), Kind: 'r', Keys: Primary(), Columns: []catalog.Column{
			Column("id", Int4, true), Column("name", Text, true), Column("sex", Text, true), Column("birth_year", Int4, true),
			Column("region", Varchar10, true), Column("smoker", Boolean, false), Column("mood", mood, false),
			Column("weight", Float8, false), Column("notes", Jsonb, false),
		}},
		{
			Name: Name("visits"), Kind: 'r', Keys: Primary(), Columns: []catalog.Column{
				Column("id", Int4, true), Column("patient_id", Int4, true), Column("hospital_id", Int4, true), Column("day", Date, true),
				Column("at", instant, false), Column("diagnosis", Text, true), Column("cost", Numeric10, true),
				Column("tip", Numeric, false),
				Column("score", float4, false), Column("steps", Bigint, false), Column("place", place, false),
			}, Foreign: []catalog.ForeignKey{References("patient_id", "patients")},
			Loose: []catalog.ForeignKey{References("hospital_id", "hospitals")},
		},
		{Name: Name("labs"), Kind: 'r', Keys: Primary(), Columns: []catalog.Column{
			Column("id", Int4, true), Column("visit_id", Int4, true), Column("test", Text, true), Column("value", Float8, false),
		}, Foreign: []catalog.ForeignKey{References("visit_id", "visits")}},
		{Name: Name("hospitals"), Kind: 'r', Keys: Primary(), Columns: []catalog.Column{
			Column("id", Int4, true), Column("name", Text, true), Column("region", Text, true),
		}},
	}
	s := &catalog.Schema{
		ServerVersion: ServedVersion, TimeZones: map[string]bool{"etc/utc": true},
		PublicRows:    map[catalog.Name]int64{Name("hospitals"): 3},
		PublicRepeats: map[catalog.Name]map[string]int64{Name("hospitals"): {"id": 1, "name": 1, "region": 2}},
		Tables:        map[catalog.Name]*catalog.Table{},
		Types: map[catalog.Name]*catalog.Type{
			Name("mood"): {Name: Name("mood"), Kind: 'e', Labels: []string{"sad", "ok", "happy"}},
		},
	}
	for _, t := range tables {
		s.Tables[t.Name] = t
	}
	return s
}

// Bounds is the policy of a column with bounds.
func Bounds(low, high string) policy.ColumnPolicy {
	l, okLow := new(big.Rat).SetString(low)
	h, okHigh := new(big.Rat).SetString(high)
	b := &policy.Bounds{LowText: low, HighText: high}
	if okLow && okHigh {
		b.Low, b.High = l, h
	}
	return policy.ColumnPolicy{Bounds: b}
}

// Values is the policy of a column with declared values.
func Values(v ...string) policy.ColumnPolicy { return policy.ColumnPolicy{Values: v} }

// Field is the policy of a field of documents.
func Field(typ string, as policy.ColumnPolicy, keys ...string) policy.FieldPolicy {
	return policy.FieldPolicy{Path: strings.Join(keys, "."), Keys: keys, Type: typ, ColumnPolicy: as}
}

// ClinicPolicy is the policy of the clinic.
func ClinicPolicy() policy.Policy {
	return policy.Policy{Unit: "patient", Tables: []policy.TablePolicy{
		{Name: Name("patients"), UnitColumn: "id", Columns: map[string]policy.ColumnPolicy{
			"name": {Hidden: true}, "sex": Values("f", "m", "x"), "birth_year": Bounds("1920", "2010"),
			"region": Values("north", "south"), "mood": {EnumValues: true}, "weight": Bounds("0.5", "300"),
			"notes": {Fields: []policy.FieldPolicy{
				Field("text", Values("android", "ios"), "device"), Field("integer", Bounds("0", "1000"), "logins"),
				Field("date", Bounds("2020-01-01", "2020-12-31"), "seen", "last"), Field("text", policy.ColumnPolicy{}, "seen", "by"),
				Field("numeric", policy.ColumnPolicy{}, "score"), Field("boolean", policy.ColumnPolicy{}, "smoker"),
			}},
		}},
		{Name: Name("visits"), UnitColumn: "patient_id", MaxRows: 20, MaxPartitions: 2, Columns: map[string]policy.ColumnPolicy{
			"diagnosis": Values("asthma", "flu", "it's \"so\""), "cost": Bounds("0", "20000"), "day": Bounds("2020-01-01", "2024-12-31"),
			"tip": Bounds("-1.5", "99"), "score": Bounds("-1", "1"), "steps": Bounds("0", "100000"),
		}},
		{
			Name: Name("labs"), Via: "visit_id", To: policy.ColumnName{Table: Name("visits"), Column: "id"},
			MaxRows: 40, Columns: map[string]policy.ColumnPolicy{
				"test": Values("chol", "hdl"), "value": Bounds("0", "400"),
			},
		},
		{Name: Name("hospitals"), Public: true},
	}}
}

// Clinic is the model of the clinic.
func Clinic(t *testing.T) *policy.Model {
	t.Helper()
	return Checked(t, ClinicSchema())
}

// IndexedClinic is a clinic where one index begins with the unit, and another covers some
// columns.
func IndexedClinic(t *testing.T, indexes ...catalog.Index) *policy.Model {
	t.Helper()
	if indexes == nil {
		indexes = []catalog.Index{
			{Name: "alone", Columns: []string{"patient_id"}},
			{Name: "covering", Columns: []string{"patient_id", "diagnosis", "cost"}},
		}
	}
	s := ClinicSchema()
	s.Tables[Name("visits")].Sorted = indexes
	return Checked(t, s)
}

// ReferringClinic is a clinic whose visits refer to hospitals by a foreign key that is validated.
func ReferringClinic(t *testing.T) *policy.Model {
	t.Helper()
	s := ClinicSchema()
	visits := s.Tables[Name("visits")]
	visits.Foreign, visits.Loose = append(visits.Foreign, visits.Loose...), nil
	return Checked(t, s)
}

// HiddenClinic is a clinic whose protected tables hide the columns.
func HiddenClinic(t *testing.T, columns ...string) *policy.Model {
	t.Helper()
	p, s := ClinicPolicy(), ClinicSchema()
	for _, table := range p.Tables {
		for _, c := range columns {
			if _, ok := s.Tables[table.Name].Column(c); ok && !table.Public {
				table.Columns[c] = policy.ColumnPolicy{Hidden: true}
			}
		}
	}
	return CheckedBy(t, p, s)
}

// Checked is the model of the clinic with another catalogue.
func Checked(t *testing.T, s *catalog.Schema) *policy.Model {
	t.Helper()
	return CheckedBy(t, ClinicPolicy(), s)
}

// CheckedBy is a model, or fails the test.
func CheckedBy(t *testing.T, p policy.Policy, s *catalog.Schema) *policy.Model {
	t.Helper()
	c, problems := policy.Check(p, s)
	for _, p := range problems {
		t.Errorf("%v", p)
	}
	if c == nil {
		t.FailNow()
	}
	return c
}
