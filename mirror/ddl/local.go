package ddl

import (
	"fmt"
	"strings"

	"dpproxy/mirror/quote"
)

// localFunctions are those of the local model: dp.survey, which the proxy answers where it stands alone in FROM with constants, and
// functions over the answers, which are SQL as any.
func localFunctions() []Object {
	survey := localFunction("dp.survey(text, text, numeric, text, text)", `"table" text, question text, epsilon numeric,
			name text DEFAULT NULL, "where" text DEFAULT NULL`,
		"SETOF dp.surveyed", "plpgsql STABLE", `
		DECLARE state json := nullif(pg_catalog.current_setting('dp.state_survey', true), '')::json;
		BEGIN
			IF state IS NULL OR state OPERATOR(pg_catalog.->>) 'table' OPERATOR(pg_catalog.<>) $1
				OR state OPERATOR(pg_catalog.->>) 'question' OPERATOR(pg_catalog.<>) $2
				OR CAST(state OPERATOR(pg_catalog.->>) 'epsilon' AS numeric) OPERATOR(pg_catalog.<>) $3
				OR state OPERATOR(pg_catalog.->>) 'where' IS DISTINCT FROM $5 THEN
				RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = 'dp.survey stands alone in FROM of a statement of its own',
					HINT = 'Write SELECT * FROM dp.survey(''people'', ''smoker'', epsilon => 1). The answers are in local.people.';
			END IF;
			RETURN QUERY SELECT (pg_catalog.json_populate_record(CAST(NULL AS dp.surveyed), state OPERATOR(pg_catalog.->) 'row')).*;
		END`)
	survey.Needs = append(survey.Needs, surveyedKey)
	return []Object{
		surveyedType(), survey,
		localFunction("dp.odometer(text)", `"table" text`,
			`TABLE(objects bigint, exhausted bigint, loss_median numeric, loss_90 numeric, loss_max numeric, remaining_median numeric)`,
			"plpgsql STABLE", `
		BEGIN
			RETURN QUERY EXECUTE format('SELECT count(*), count(*) FILTER (WHERE remaining = 0),
				percentile_disc(0.5) WITHIN GROUP (ORDER BY loss), percentile_disc(0.9) WITHIN GROUP (ORDER BY loss), max(loss),
				percentile_disc(0.5) WITHIN GROUP (ORDER BY remaining) FROM local.%I', regexp_replace($1, '^.*[.]', ''));
		EXCEPTION
			WHEN undefined_table THEN
				RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('no table of the local model is called "%s"', $1),
					HINT = 'SELECT * FROM dp.tables lists the tables that you may ask about.';
			WHEN insufficient_privilege THEN
				RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('permission denied for table %s', $1);
		END`),
		localFunction("dp.share(bigint, bigint, numeric, integer)", `yes bigint, n bigint, epsilon numeric, k integer DEFAULT 2`,
			`TABLE(share double precision, stderr double precision)`, "plpgsql IMMUTABLE",
			checked("share", "$1 >= 0 AND $1 <= $2 AND $3 > 0 AND $3 <= 50 AND $4 >= 2",
				"yes from 0 to n, epsilon above 0 and at most 50, and k of 2 or more", `
			RETURN QUERY SELECT s.share, sqrt(greatest(0, least(1, s.share)) * p * (1 - p)
				+ (1 - greatest(0, least(1, s.share))) * q * (1 - q)) / sqrt(nullif($2, 0)) / (p - q)
			FROM (SELECT exp($3::float8) / (exp($3::float8) + $4 - 1) AS p, 1 / (exp($3::float8) + $4 - 1) AS q) AS law,
				LATERAL (SELECT ($1::float8 / nullif($2, 0) - q) / (p - q) AS share) AS s;`)),
		localFunction("dp.set_share(bigint, bigint, numeric)", "yes bigint, n bigint, epsilon numeric",
			"TABLE(share double precision, stderr double precision)", "plpgsql IMMUTABLE",
			checked("set_share", "$1 >= 0 AND $1 <= $2 AND $3 > 0 AND $3 <= 50",
				"yes from 0 to n, and epsilon above 0 and at most 50", `
			RETURN QUERY SELECT s.share, sqrt(greatest(0, least(1, s.share)) / 4 + (1 - greatest(0, least(1, s.share))) * q * (1 - q))
				/ sqrt(nullif($2, 0)) / (0.5 - q)
			FROM (SELECT 1 / (exp($3::float8) + 1) AS q) AS law,
				LATERAL (SELECT ($1::float8 / nullif($2, 0) - q) / (0.5 - q) AS share) AS s;`)),
		localFunction("dp.bounded_mean(bigint, bigint, numeric, numeric, numeric)",
			`ones bigint, n bigint, epsilon numeric, low numeric, high numeric`, `TABLE(mean double precision, stderr double precision)`,
			"plpgsql IMMUTABLE",
			checked("bounded_mean", "$1 >= 0 AND $1 <= $2 AND $3 > 0 AND $3 <= 50 AND $4 < $5",
				"ones from 0 to n, epsilon above 0 and at most 50, and low below high", `
			RETURN QUERY SELECT $4::float8 + ($5 - $4)::float8 * ((e + 1) * $1 / nullif($2, 0) - 1) / (e - 1),
				($5 - $4)::float8 * sqrt(u * (1 - u) / nullif($2, 0)) * (e + 1) / (e - 1)
			FROM (SELECT exp($3::float8) AS e) AS law,
				LATERAL (SELECT greatest(1 / (e + 1), least(e / (e + 1), $1::float8 / nullif($2, 0))) AS u) AS s;`)),
		estimateFunction("local_histogram", "column", "value text, share double precision", "r.value, r.share", "smoker"),
		estimateFunction("local_mean", "expression", "mean double precision", "r.share", "age"),
	}
}

// checked is the body of a function that raises unless its arguments are possible: others would have some number all the same. Of a
// NULL, and of nobody, the result is NULL.
func checked(name, possible, needed, body string) string {
	return fmt.Sprintf(`
		BEGIN
			IF NOT (%s) THEN
				RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'dp.%s needs %s';
			END IF;%s
		END`, possible, name, needed, body)
}

// estimateFunction returns the rows that the proxy has put into a setting of the session for a call with these arguments.
func estimateFunction(name, subject, returned, shown, example string) Object {
	mean := "NOT"
	if name == "local_mean" {
		mean = ""
	}
	return localFunction("dp."+name+"(text, text, double precision)",
		fmt.Sprintf(`"table" text, %q text, confidence double precision DEFAULT 0.95`, subject),
		"TABLE("+returned+", lower double precision, upper double precision, remark text)", "plpgsql STABLE", fmt.Sprintf(`
		DECLARE known json := (SELECT e->'rows'
			FROM json_array_elements(nullif(current_setting('dp.state_estimates', true), '')::json) AS e
			WHERE %[1]s (e->>'mean')::boolean AND e->>'table' = $1 AND e->>'of' = $2 AND (e->>'confidence')::float8 = $3 LIMIT 1);
		BEGIN
			IF known IS NULL THEN
				RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = 'dp.%[2]s has no estimate of these arguments',
					HINT = 'Write them as constants: SELECT * FROM dp.%[2]s(''people'', ''%[3]s'').';
			END IF;
			RETURN QUERY SELECT %[4]s, r.lower, r.upper, r.remark
				FROM json_to_recordset(known) AS r(value text, share float8, lower float8, upper float8, remark text);
		END`, mean, name, example, shown))
}

// surveyedType is the row that dp.survey returns: its columns have names that its arguments have too.
func surveyedType() Object {
	return Object{
		Key: surveyedKey,
		Create: `CREATE TYPE dp.surveyed AS (name text, kind text, epsilon numeric, asked bigint, answered bigint, refused bigint,
			loss_median numeric, loss_90 numeric, loss_max numeric);
ALTER TYPE dp.surveyed OWNER TO ` + Owner,
		Drop:  "DROP TYPE dp.surveyed CASCADE",
		State: "SELECT typowner::regrole::text, typtype = 'c' FROM pg_type WHERE oid = to_regtype('dp.surveyed')",
	}
}

var surveyedKey = Key{KindType, "dp.surveyed"}

// localFunction is a function that returns rows.
func localFunction(signature, arguments, returns, language, body string) Object {
	name, _, _ := strings.Cut(signature, "(")
	return Object{
		Key: Key{KindFunction, signature},
		Create: fmt.Sprintf("CREATE FUNCTION %s(%s) RETURNS %s\n\t\tLANGUAGE %s SET search_path = pg_catalog, pg_temp AS $dp$%s $dp$;\n"+
			"ALTER FUNCTION %s OWNER TO %s", name, arguments, returns, language, body, signature, Owner),
		Drop: "DROP FUNCTION " + signature + " CASCADE",
		State: "SELECT proowner::regrole::text, NOT prosecdef FROM pg_proc WHERE oid = to_regprocedure(" +
			quote.Literal(signature) + ")",
	}
}
