package mirror

import (
	"fmt"
	"strings"

	"dpproxy/mirror/quote"
)

// stateView is a view in the schema dp that shows what the proxy put into a setting of the
// session, an array of JSON objects, when the statement mentions it.
func stateView(name, setting, columns string) object {
	return object{
		key: key{"view", "dp." + name},
		create: fmt.Sprintf(`CREATE VIEW dp.%[1]s WITH (security_invoker = true) AS
		SELECT * FROM pg_catalog.json_to_recordset(nullif(pg_catalog.current_setting('%[2]s', true), '')::json)
			AS s(%[3]s);
ALTER VIEW dp.%[1]s OWNER TO %[4]s`, name, setting, columns, Owner),
		drop:  fmt.Sprintf("DROP VIEW dp.%s CASCADE", name),
		state: fmt.Sprintf("SELECT relowner::regrole::text, relkind = 'v' FROM pg_class WHERE oid = to_regclass('dp.%s')", name),
	}
}

// stateViews show an analyst what concerns him: budgets, his own statements, and the policy of
// his tables and their columns.
func stateViews() []object {
	return []object{
		stateView("budget", "dp.state", `scope text, kind text, measure text, "limit" numeric, spent numeric, remaining numeric,
			delta_limit numeric, delta_spent numeric, held numeric, epsilon double precision, questions bigint`),
		stateView("history", "dp.state_history", `number bigint, at timestamptz, statement text, mechanism text, looks integer,
			measure text, cost numeric, error text, remark text`),
		stateView("tables", "dp.state_tables", `schema text, name text, unit text, max_rows bigint, max_partitions bigint,
			measure text, spent numeric, held numeric, remaining numeric, epsilon double precision, questions bigint`),
		stateView("columns", "dp.state_columns", `schema text, "table" text, name text, type text,
			low text, high text, "values" text[]`),
	}
}

// viewName is the name of a view without its schema.
func viewName(o object) string { return strings.TrimPrefix(o.name, "dp.") }

// planFunction returns what EXPLAIN of a statement says, as rows. The proxy puts them into a
// setting of the session when a statement calls it with a text that is known by then.
var planFunction = object{
	key: key{"function", "dp.plan"},
	create: `CREATE FUNCTION dp.plan(statement text) RETURNS TABLE(line integer, depth integer, item text, value text)
		LANGUAGE plpgsql STABLE AS $dp$
		DECLARE plans json := nullif(pg_catalog.current_setting('dp.state_plans', true), '')::json;
		BEGIN
			IF plans OPERATOR(pg_catalog.->) statement IS NULL THEN
				RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = 'dp.plan has no plan of this text',
					HINT = 'write the statement as a constant: SELECT * FROM dp.plan($$SELECT count(*) FROM ...$$)';
			END IF;
			RETURN QUERY SELECT p.line, p.depth, p.item, p.value
				FROM pg_catalog.json_to_recordset(plans OPERATOR(pg_catalog.->) statement)
					AS p(line integer, depth integer, item text, value text);
		END $dp$;
ALTER FUNCTION dp.plan(text) OWNER TO ` + Owner,
	drop: "DROP FUNCTION dp.plan(text) CASCADE",
	state: `SELECT proowner::regrole::text, provolatile = 's' AND NOT prosecdef
			FROM pg_proc WHERE oid = to_regprocedure('dp.plan(text)')`,
}

// reportFunctions give the error of an aggregate. Over protected rows the proxy answers them;
// over others there is no noise.
func reportFunctions() []object {
	var all []object
	for _, f := range []struct{ name, arguments, body string }{
		{"stderr", "anyelement", "0"},
		{"noise_scale", "anyelement", "0"},
		{"lower", "anyelement", "$1::text::float8"},
		{"upper", "anyelement", "$1::text::float8"},
		{"lower", "anyelement, float8", "$1::text::float8"},
		{"upper", "anyelement, float8", "$1::text::float8"},
	} {
		signature := fmt.Sprintf("dp.%s(%s)", f.name, f.arguments)
		all = append(all, object{
			key:    key{"function", signature},
			create: fmt.Sprintf("CREATE FUNCTION %[1]s RETURNS float8 LANGUAGE sql IMMUTABLE AS $dp$ SELECT CAST(%[2]s AS float8) $dp$;\nALTER FUNCTION %[1]s OWNER TO %[3]s", signature, f.body, Owner),
			drop:   "DROP FUNCTION " + signature + " CASCADE",
			state:  "SELECT proowner::regrole::text, NOT prosecdef FROM pg_proc WHERE oid = to_regprocedure(" + quote.Literal(signature) + ")",
		})
	}
	return all
}
