package scalar_test

import (
	"strings"

	"pgregory.net/rapid"
)

// kinds of random expressions.
var kinds = []string{"int", "numeric", "float", "bool", "text", "date", "timestamp", "timestamptz", "interval", "number"}

// leaves are columns and constants by kind.
var leaves = map[string][]string{
	"int": {
		"i2", "i4", "nn", "i8", "iu", "0", "1", "-1", "7", "3000000000", "$1", "NULL", "'5'", "i2", "i4", "i4",
		"9223372036854775807", "-9223372036854775808", "-2147483648",
	},
	"numeric": {
		"num", "nf", "nu", "0.0", "2.5", "-0.01", "$3", "1e10", "num", "num", "6::numeric(12,2)", "1e200", "1e-300",
		"repeat('9', 131072)::numeric", "1e131071", "'NaN'::numeric", "-1e-16383",
	},
	"float": {
		"f8", "f4", "fw", "fu", "f8", "f8", "'1e-5'::float8", "2.5::float4", "'1e150'::float8", "'1e308'::float8",
		"'-5e-324'::float8", "'3.4e38'::float4", "'-0'::float8", "'NaN'::float8",
	},
	"bool": {"b", "true", "false", "b", "NULL::bool"},
	"text": {"s", "v", "c", "''", "'a b'", "'%'", "v", "v", "$2", "cc", "c", "'ab'::char(5)"},
	"date": {
		"d", "du", "'2022-02-28'::date", "d", "d", "current_date", "'5874897-12-31'::date", "'4713-01-01 BC'::date",
		"'9999-12-31'::date", "'0001-01-01'::date", "'-infinity'::date",
	},
	"timestamp": {
		"ts", "'2021-11-07 01:30:00'::timestamp", "ts", "ts", "'294276-12-31 23:59:59'::timestamp",
		"'4713-01-01 BC'::timestamp", "'9999-12-31 23:59:59'::timestamp", "'0001-01-01'::timestamp", "'infinity'::timestamp",
	},
	"timestamptz": {
		"tz", "$4", "tz", "tz", "'294276-12-31 23:59:59+00'::timestamptz", "'4713-01-01 00:00+00 BC'::timestamptz",
		"'9999-12-31 23:59:59+00'::timestamptz", "'0001-01-01 00:00+00'::timestamptz",
	},
	"interval": {
		"interval '1 month'", "interval '1 day'", "interval '-3 hours 7 seconds'", "interval '1 year 2 months 3 days'", "iv",
		"interval '3540000 months -107746537 days'", "interval '178000000 years'", "interval '2147483647 days -2147483647 days'",
		"interval '-9000 years 3287182 days'", "interval '2562047788 hours'",
	},
}

// forms are expressions by kind: {kind} stands for a smaller one.
var forms = map[string][]string{
	"int": {
		"{int} + {int}", "{int} - {int}", "{int} * {int}", "{int} / {int}", "{int} % {int}", "-{int}", "abs({int})", "mod({int}, {int})",
		"({numeric})::int", "({float})::int8", "({bool})::int", "length({text})", "position('a' in {text})", "{date} - {date}",
		"({int})::int2", "({int})::int8", "octet_length({text})",
	},
	"numeric": {
		"{numeric} + {number}", "{numeric} - {numeric}", "{numeric} * {numeric}", "{numeric} / {numeric}", "{numeric} % {numeric}",
		"-{numeric}", "abs({numeric})", "round({numeric})", "round({numeric}, 2)", "trunc({numeric}, 1)", "floor({numeric})",
		"ceil({numeric})", "({int})::numeric", "({numeric})::numeric(20,3)", "({int})::numeric(12,2)", "({numeric})::numeric(12,2)",
		"NULLIF((SELECT 6::numeric), {numeric})", "COALESCE({numeric}, (SELECT 6.00))", "extract(year from {date})",
		"extract(epoch from {timestamp})", "extract(hour from {timestamptz})", "extract(epoch from {timestamp} - {timestamp})",
		"sign({numeric})", "div({numeric}, {numeric})", "{int} * {numeric}",
	},
	"float": {
		"{float} + {number}", "{float} - {float}", "{float} * {float}", "{float} / {float}", "{number} / {float}", "-{float}",
		"abs({float})", "round({float})", "floor({float})", "({int})::float8", "({numeric})::float8", "({float})::float4",
		"({int})::float4", "date_part('month', {timestamp})", "sign({float})", "trunc({float})",
	},
	"bool": {
		"{number} < {number}", "{number} = {number}", "{text} = {text}", "{text} < {text}", "{date} >= {date}", "{timestamp} < {date}",
		"{timestamptz} > {timestamptz}", "{timestamptz} > {date}", "{bool} AND {bool}", "{bool} OR {bool}", "NOT ({bool})",
		"({number}) IS NULL", "({text}) IS NOT NULL", "({bool}) IS TRUE", "{int} BETWEEN {int} AND {number}",
		"{int} IN ({int}, {number}, 3)", "{number} NOT IN ({number}, {number}, 0.1, 9223372036854775806)",
		"{text} IN ({text}, 'a ', {text})", "{date} NOT IN ({timestamp}, '2020-02-29', {timestamptz})", "{text} LIKE '%a_'",
		"{text} ILIKE 'A%'", "{text} NOT LIKE ALL (ARRAY['a%', '_', $2])", "{text} ILIKE ANY (ARRAY['A%', NULL])",
		"({int}, {text}) < ({int}, {text})", "({number}, {date}, {bool}) >= ({number}, {date}, {bool})",
		"({int}, {text}) <> ({number}, {text})", "({int}, {bool}) IN (({int}, true), ({int}, {bool}))",
		"({int}, {bool}) NOT IN (({int}, true), ({int}, {bool}))", "({float}, {date}) IS DISTINCT FROM ({float}, {date})",
		"({float}, {date}) IS NOT DISTINCT FROM ({float}, {date})",
		"{number} IS DISTINCT FROM {number}",
		"{int} = ANY (ARRAY[1, 2, 7])", "({int})::bool", "starts_with({text}, 'a')", "{interval} < {interval}",
		"{timestamp} - {timestamp} > {interval}",
	},
	"text": {
		"lower({text})", "upper({text})", "left({text}, 3)", "right({text}, 2)", "substring({text} from 2 for 2)", "{text} || {text}",
		"btrim({text})", "replace({text}, 'a', 'bb')", "split_part({text}, ' ', 1)", "({int})::text", "({bool})::text",
		"({text})::varchar(3)", "({text})::char(4)", "({text})::char(5)", "md5({text})", "to_char({timestamp}, 'YYYY-MM')",
		"concat({text}, {text})", "reverse({text})",
	},
	"date": {
		"{date} + {int}", "{date} - {int}", "({timestamp})::date", "({timestamptz})::date", "date_trunc('month', {date})::date",
		"{date} + 31",
	},
	"timestamp": {
		"{timestamp} + {interval}", "{timestamp} - {interval}", "{date} + {interval}", "date_trunc('week', {timestamp})",
		"date_trunc('hour', {timestamp})", "({date})::timestamp", "({timestamptz})::timestamp",
		"{timestamptz} AT TIME ZONE 'Europe/Vienna'",
	},
	"timestamptz": {
		"{timestamptz} + {interval}", "{timestamptz} - {interval}", "date_trunc('month', {timestamptz})", "date_trunc('day', {date})",
		"({date})::timestamptz", "({timestamp})::timestamptz", "{timestamp} AT TIME ZONE 'Asia/Kolkata'",
		"date_trunc('hour', {timestamptz}, 'America/St_Johns')",
	},
	"interval": {"{timestamp} - {timestamp}", "{timestamptz} - {timestamptz}", "{timestamptz} - {date}"},
	"number":   {"{int}", "{numeric}", "{float}"},
}

// general are forms of any kind.
var general = []string{
	"COALESCE({}, {})", "CASE WHEN {bool} THEN {} ELSE {} END", "CASE WHEN {bool} THEN {} END", "GREATEST({}, {})", "LEAST({}, {}, {})",
	"NULLIF({}, {})", "CASE {int} WHEN 0 THEN {} WHEN {int} THEN {} END", "CASE {number} WHEN {number} THEN {} WHEN {number} THEN {} END",
	"LEAST(GREATEST({}, {}), {})",
}

func randomExpr(r *rapid.T, kind string, depth int) string {
	if depth == 0 && kind != "number" || depth > 0 && kind != "number" && rapid.IntRange(0, 5).Draw(r, "leaf") == 0 {
		return rapid.SampledFrom(leaves[kind]).Draw(r, "column")
	}
	list := forms[kind]
	if kind != "number" && rapid.IntRange(0, 4).Draw(r, "general") == 0 {
		list = general
	}
	form := rapid.SampledFrom(list).Draw(r, "form")
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(form, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		if name == "" {
			name = kind
		}
		below := max(depth-1, 0)
		b.WriteString("(" + randomExpr(r, name, below) + ")")
		form = after
	}
}
