package scalar

import (
	"strings"

	"dpproxy/planner/pgtype"
)

// operators are the operators of pg_catalog, by symbol, except comparisons and LIKE.
var operators = index(true,
	group{plus, `
		+ int2 int2 > int2; + int4 int4 > int4; + int8 int8 > int8; + int2 int4 > int4; + int4 int2 > int4;
		+ int2 int8 > int8; + int8 int2 > int8; + int4 int8 > int8; + int8 int4 > int8; + numeric numeric > numeric;
		+ float4 float4 > float4; + float8 float8 > float8; + float4 float8 > float8; + float8 float4 > float8`},
	group{minus, `
		- int2 int2 > int2; - int4 int4 > int4; - int8 int8 > int8; - int2 int4 > int4; - int4 int2 > int4;
		- int2 int8 > int8; - int8 int2 > int8; - int4 int8 > int8; - int8 int4 > int8; - numeric numeric > numeric;
		- float4 float4 > float4; - float8 float8 > float8; - float4 float8 > float8; - float8 float4 > float8`},
	group{times, `
		* int2 int2 > int2; * int4 int4 > int4; * int8 int8 > int8; * int2 int4 > int4; * int4 int2 > int4;
		* int2 int8 > int8; * int8 int2 > int8; * int4 int8 > int8; * int8 int4 > int8; * numeric numeric > numeric;
		* float4 float4 > float4; * float8 float8 > float8; * float4 float8 > float8; * float8 float4 > float8`},
	group{divided, `
		/ int2 int2 > int2; / int4 int4 > int4; / int8 int8 > int8; / int2 int4 > int4; / int4 int2 > int4;
		/ int2 int8 > int8; / int8 int2 > int8; / int4 int8 > int8; / int8 int4 > int8; / numeric numeric > numeric;
		/ float4 float4 > float4; / float8 float8 > float8; / float4 float8 > float8; / float8 float4 > float8`},
	group{modulo, "% int2 int2 > int2; % int4 int4 > int4; % int8 int8 > int8; % numeric numeric > numeric"},
	group{plus, "+ int2 > int2; + int4 > int4; + int8 > int8; + numeric > numeric; + float4 > float4; + float8 > float8"},
	group{minus, "- int2 > int2; - int4 > int4; - int8 > int8; - numeric > numeric; - float4 > float4; - float8 > float8"},
	group{dateShift, "+ date int4 > date; + int4 date > date; - date int4 > date"},
	group{dateDifference, "- date date > int4"},
	group{shift, `
		+ date interval > timestamp; + interval date > timestamp; - date interval > timestamp;
		+ timestamp interval > timestamp; + interval timestamp > timestamp; - timestamp interval > timestamp;
		+ timestamptz interval > timestamptz; + interval timestamptz > timestamptz; - timestamptz interval > timestamptz`},
	group{difference, "- timestamp timestamp > interval; - timestamptz timestamptz > interval"},
	group{nil, `
		+ date time > timestamp; + time date > timestamp; + time interval > time; + interval time > time;
		- time interval > time; - time time > interval; + interval interval > interval; - interval interval > interval;
		- interval > interval; * interval float8 > interval; * float8 interval > interval; / interval float8 > interval;
		+ date timetz > timestamptz; + timetz date > timestamptz; + timetz interval > timetz; + interval timetz > timetz;
		- timetz interval > timetz`},
	group{raised, "^ float8 float8 > float8; ^ numeric numeric > numeric"},
	group{concatenate, "|| text text > text"},
)

// functions are the functions of pg_catalog, by name.
var functions = index(false,
	group{absolute, `
		abs int2 > int2; abs int4 > int4; abs int8 > int8; abs numeric > numeric; abs float4 > float4; abs float8 > float8`},
	group{signum, "sign numeric > numeric; sign float8 > float8"},
	group{rounding, `
		round numeric > numeric; round float8 > float8; floor numeric > numeric; floor float8 > float8;
		ceil numeric > numeric; ceil float8 > float8; ceiling numeric > numeric; ceiling float8 > float8;
		trunc numeric > numeric; trunc float8 > float8`},
	group{roundingTo, "round numeric int4 > numeric; trunc numeric int4 > numeric"},
	group{modulo, "mod int2 int2 > int2; mod int4 int4 > int4; mod int8 int8 > int8; mod numeric numeric > numeric"},
	group{quotient, "div numeric numeric > numeric"},
	group{squareRoot, "sqrt float8 > float8; sqrt numeric > numeric"},
	group{exponential, "exp float8 > float8; exp numeric > numeric"},
	group{logarithm, "ln float8 > float8; ln numeric > numeric"},
	group{logarithm10, "log float8 > float8; log numeric > numeric; log10 float8 > float8; log10 numeric > numeric"},
	group{raised, `
		power float8 float8 > float8; power numeric numeric > numeric; pow float8 float8 > float8;
		pow numeric numeric > numeric`},
	group{bucket, "width_bucket float8 float8 float8 int4 > int4; width_bucket numeric numeric numeric int4 > int4"},

	group{length, `
		length text > int4; length bpchar > int4; char_length text > int4; char_length bpchar > int4;
		character_length text > int4; character_length bpchar > int4; octet_length text > int4; octet_length bpchar > int4`},
	group{letters, "lower text > text; upper text > text; initcap text > text"},
	group{trim, "btrim text > text; ltrim text > text; rtrim text > text"},
	group{trimOf, "btrim text text > text; ltrim text text > text; rtrim text text > text"},
	group{part, "substring text int4 int4 > text; substr text int4 int4 > text"},
	group{end, "left text int4 > text; right text int4 > text"},
	group{padded, "lpad text int4 > text; lpad text int4 text > text; rpad text int4 > text; rpad text int4 text > text"},
	group{rest, "substring text int4 > text; substr text int4 > text"},
	group{find, "position text text > int4; strpos text text > int4"},
	group{prefix, "starts_with text text > bool"},
	group{replace, "replace text text text > text"},
	group{translate, "translate text text text > text"},
	group{splitPart, "split_part text text int4 > text"},
	group{hash, "md5 text > text"},
	group{reverse, "reverse text > text"},

	group{truncate, `
		date_trunc text timestamp > timestamp; date_trunc text timestamptz > timestamptz;
		date_trunc text timestamptz text > timestamptz`},
	group{extract, `
		extract text date > numeric; extract text timestamp > numeric; extract text timestamptz > numeric;
		extract text interval > numeric; date_part text date > float8; date_part text timestamp > float8;
		date_part text timestamptz > float8; date_part text interval > float8`},
	group{atZone, "timezone text timestamptz > timestamp; timezone text timestamp > timestamptz"},
	group{calendarAge, "age timestamp timestamp > interval; age timestamptz timestamptz > interval"},
	group{dateOf, "make_date int4 int4 int4 > date"},
	group{bins, "date_bin interval timestamp timestamp > timestamp; date_bin interval timestamptz timestamptz > timestamptz"},
	group{format, "to_char timestamp text > text; to_char timestamptz text > text"},

	group{nil, `
		date_trunc text interval > interval; extract text time > numeric; date_part text time > float8;
		timezone interval timestamptz > timestamp; timezone interval timestamp > timestamptz; timezone text timetz > timetz;
		now > timestamptz; transaction_timestamp > timestamptz; statement_timestamp > timestamptz;
		make_time int4 int4 float8 > time;
		make_timestamp int4 int4 int4 int4 int4 float8 > timestamp;
		make_timestamptz int4 int4 int4 int4 int4 float8 > timestamptz;
		make_timestamptz int4 int4 int4 int4 int4 float8 text > timestamptz; make_interval > interval;
		make_interval int4 > interval; make_interval int4 int4 > interval; make_interval int4 int4 int4 > interval;
		make_interval int4 int4 int4 int4 > interval; make_interval int4 int4 int4 int4 int4 > interval;
		make_interval int4 int4 int4 int4 int4 int4 > interval; make_interval int4 int4 int4 int4 int4 int4 float8 > interval;
		to_date text text > date; to_timestamp text text > timestamptz; to_timestamp float8 > timestamptz;
		to_number text text > numeric; to_char interval text > text; to_char numeric text > text; to_char int4 text > text;
		to_char int8 text > text; to_char float4 text > text; to_char float8 text > text; like_escape text text > text;
		substring text text > text; substring text text text > text; repeat text int4 > text`},
)

// castFunctions are types whose names Postgres also accepts as functions: date(x) is a cast.
var castFunctions = []string{"date", "numeric", "float8", "float4", "int8", "int4", "int2", "text"}

// A group is functions that one rule computes.
type group struct {
	rule       *rule
	signatures string // "name argument ... > result; ..."
}

// index parses the signatures.
func index(operator bool, groups ...group) map[string][]*function {
	all := map[string][]*function{}
	for _, g := range groups {
		for s := range strings.SplitSeq(g.signatures, ";") {
			takes, result, _ := strings.Cut(strings.TrimSpace(s), " > ")
			words := strings.Fields(takes)
			f := &function{name: words[0], operator: operator, result: oid(result), over: g.rule}
			for _, a := range words[1:] {
				f.args = append(f.args, oid(a))
			}
			f.strict = len(f.args)
			all[f.name] = append(all[f.name], f)
		}
	}
	return all
}

// oid returns the OID of a type in a signature.
func oid(name string) uint32 {
	oid, ok := pgtype.ByName(name)
	if !ok {
		panic("no type " + name) //nolint:forbidigo // a signature here is misspelled: the program cannot start
	}
	return oid
}
