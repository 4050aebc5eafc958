package ddl

import (
	"fmt"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// stateViews show an analyst their budgets, their own statements, and the policy of their tables
// and of the columns of these.
var stateViews = []struct{ name, comment, setting, columns string }{
	{
		"budget", "your budgets, and what is left of each", "dp.state",
		`scope text, kind text, measure text, "limit" numeric, spent numeric, remaining numeric,
			delta_limit numeric, delta_spent numeric, held numeric, epsilon double precision, questions bigint`,
	},
	{
		"history", "your statements, and what each cost", "dp.state_history",
		`number bigint, at timestamptz, statement text, mechanism text, looks integer,
			measure text, cost numeric, error text, remark text`,
	},
	{
		"last", "what the notice says of your last protected statement", "dp.state_last",
		`at timestamptz, statement text, mechanism text, looks integer, measure text, cost numeric, confidence float8,
			error text, groups text, bounds text, limits text, remaining text, remark text`,
	},
	{
		"tables", "the protected tables that you may ask about, and their budgets", "dp.state_tables",
		`schema text, name text, unit text, max_rows bigint, max_partitions bigint,
			contribution text, measure text, spent numeric, held numeric, remaining numeric, epsilon double precision, questions bigint`,
	},
	{
		"columns", "the columns of these tables, with their bounds and public values", "dp.state_columns",
		`schema text, "table" text, name text, type text,
			low text, high text, "values" text[]`,
	},
	{
		"published", "the published tables that you may read, what each answers, and what a refresh costs", "dp.state_published",
		`name text, owner text, statement text, groups bigint, limits text, price text, as_of timestamptz, spent text,
			refreshes bigint, "current" boolean`,
	},
}

// State are the functions and views of the schema dp by which a session sees its state: dp.plan, the
// errors of aggregates, and [StateViews].
func State() []Object {
	all := append([]Object{planFunction(), suggestFunction()}, reportFunctions()...)
	all = append(append(all, localFunctions()...), sumFunctions()...)
	for _, v := range stateViews {
		all = append(all, stateView(v.name, v.setting, v.columns))
	}
	return all
}

// StateViews are the names of the views of the schema dp, which all analysts read.
func StateViews() []catalog.Name {
	var names []catalog.Name
	for _, v := range stateViews {
		names = append(names, catalog.Name{Schema: Reserved, Name: v.name})
	}
	return names
}

// StateComments are the comments on these views, which tools show that list tables.
func StateComments() []Object {
	var all []Object
	for i, n := range StateViews() {
		all = append(all, ViewComment(n, stateViews[i].comment))
	}
	return all
}

// stateView is a view over a setting of the session: an array of JSON objects, which the proxy puts
// there when the statement mentions the view.
func stateView(name, setting, columns string) Object {
	return Object{
		Key: Key{KindView, "dp." + name},
		Create: fmt.Sprintf(`CREATE VIEW dp.%[1]s WITH (security_invoker = true) AS
		SELECT * FROM pg_catalog.json_to_recordset(nullif(pg_catalog.current_setting('%[2]s', true), '')::json)
			AS s(%[3]s);
ALTER VIEW dp.%[1]s OWNER TO %[4]s`, name, setting, columns, Owner),
		Drop:  fmt.Sprintf("DROP VIEW dp.%s CASCADE", name),
		State: fmt.Sprintf("SELECT relowner::regrole::text, relkind = 'v' FROM pg_class WHERE oid = to_regclass('dp.%s')", name),
	}
}

// planFunction returns the lines of EXPLAIN of a statement as rows. The proxy puts them into a
// setting of the session when a statement calls it with a text that is known by then.
func planFunction() Object {
	return Object{
		Key: Key{KindFunction, "dp.plan"},
		Create: `CREATE FUNCTION dp.plan(statement text) RETURNS TABLE(line integer, depth integer, item text, value text)
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
		Drop: "DROP FUNCTION dp.plan(text) CASCADE",
		State: `SELECT proowner::regrole::text, provolatile = 's' AND NOT prosecdef
			FROM pg_proc WHERE oid = to_regprocedure('dp.plan(text)')`,
	}
}

// suggestFunction is what clients find in place of the query that suggests bounds: the proxy puts that there where the
// call stands in FROM, with constants.
func suggestFunction() Object {
	const signature = "dp.suggest_bounds(text, float8)"
	return Object{
		Key: Key{KindFunction, signature},
		Create: `CREATE FUNCTION dp.suggest_bounds("column" text, epsilon float8 DEFAULT NULL)
		RETURNS TABLE(lower text, upper text, clamped text)
		LANGUAGE plpgsql STABLE AS $dp$
		BEGIN
			RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = 'dp.suggest_bounds is a table, of a column that is known before it runs',
				HINT = 'write SELECT * FROM dp.suggest_bounds(''table.column'', epsilon => 0.1)';
		END $dp$;
ALTER FUNCTION ` + signature + ` OWNER TO ` + Owner,
		Drop: "DROP FUNCTION " + signature + " CASCADE",
		State: `SELECT proowner::regrole::text, provolatile = 's' AND NOT prosecdef
			FROM pg_proc WHERE oid = to_regprocedure('` + signature + `')`,
	}
}

// reportFunctions give the error of an aggregate, and weigh one. Over protected rows the proxy answers them;
// over others there is no noise, and nothing to divide.
func reportFunctions() []Object {
	var all []Object
	for _, f := range []struct{ name, arguments, body, result string }{
		{"stderr", "anyelement", "0", "float8"},
		{"noise_scale", "anyelement", "0", "float8"},
		{"error", "anyelement", "NULL", "float8"},
		{"error", "anyelement, float8", "NULL", "float8"},
		{"cut", "anyelement", "0", "float8"},
		{"cut_upper", "anyelement", "0", "float8"},
		{"cut_upper", "anyelement, float8", "0", "float8"},
		{"lower", "anyelement", "$1::text::float8", "float8"},
		{"upper", "anyelement", "$1::text::float8", "float8"},
		{"lower", "anyelement, float8", "$1::text::float8", "float8"},
		{"upper", "anyelement, float8", "$1::text::float8", "float8"},
		{"weight", "anyelement, float8", "$1", "anyelement"},
	} {
		body := f.body
		if f.result == "float8" {
			body = "CAST(" + body + " AS float8)"
		}
		signature := fmt.Sprintf("dp.%s(%s)", f.name, f.arguments)
		all = append(all, Object{
			Key: Key{KindFunction, signature},
			Create: fmt.Sprintf("CREATE FUNCTION %[1]s RETURNS %[4]s LANGUAGE sql IMMUTABLE AS $dp$ "+
				"SELECT %[2]s $dp$;\nALTER FUNCTION %[1]s OWNER TO %[3]s", signature, body, Owner, f.result),
			Drop: "DROP FUNCTION " + signature + " CASCADE",
			State: "SELECT proowner::regrole::text, NOT prosecdef FROM pg_proc WHERE oid = to_regprocedure(" +
				quote.Literal(signature) + ")",
		})
	}
	return all
}
