package ddl

import (
	"fmt"
	"strings"

	"dpproxy/mirror/quote"
)

// Published is the schema of tables in which analysts keep results for each other. Analysts own them. They may make tables, indexes and
// comments there, and nothing else: any other object could run code of its owner in a session that reads the table.
const Published = "published"

// Publisher owns the published tables of analysts that the policy no longer has. It cannot log in.
const Publisher = "dpproxy_publisher"

// Publishing is a setting that a transaction has while it publishes a result: a JSON object with the comment of the table, the record of
// the result, which is kept as the comment of the table's type, and the readers, who get SELECT. The first table that a query makes takes
// it.
const Publishing = "dp.publishing"

// published are the relations of the schema, tables of its relations, with their types.
const published = `published AS MATERIALIZED (
	SELECT c.oid, c.relname, c.relkind, c.reltype, c.relrowsecurity OR c.relforcerowsecurity AS secured
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'published')`

// faults are queries for the objects of the schema, or on them, that are none of the kinds that may be there.
var faults = []string{
	`SELECT oid, 'pg_catalog.pg_class' FROM published WHERE relkind NOT IN ('r', 'i') OR secured`,
	`SELECT d.objid, d.classid::pg_catalog.regclass::text FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_namespace n ON n.oid = d.refobjid
		WHERE d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass AND n.nspname = 'published'
			AND d.classid <> 'pg_catalog.pg_class'::pg_catalog.regclass AND d.classid <> 'pg_catalog.pg_default_acl'::pg_catalog.regclass`,
	`SELECT oid, 'pg_catalog.pg_attrdef' FROM pg_catalog.pg_attrdef WHERE adrelid IN (SELECT oid FROM published)`,
	`SELECT oid, 'pg_catalog.pg_trigger' FROM pg_catalog.pg_trigger WHERE tgrelid IN (SELECT oid FROM published)`,
	`SELECT oid, 'pg_catalog.pg_rewrite' FROM pg_catalog.pg_rewrite WHERE ev_class IN (SELECT oid FROM published)`,
	`SELECT oid, 'pg_catalog.pg_policy' FROM pg_catalog.pg_policy WHERE polrelid IN (SELECT oid FROM published)`,
	`SELECT oid, 'pg_catalog.pg_statistic_ext' FROM pg_catalog.pg_statistic_ext WHERE stxrelid IN (SELECT oid FROM published)`,
	`SELECT oid, 'pg_catalog.pg_constraint' FROM pg_catalog.pg_constraint
		WHERE contype NOT IN ('p', 'u', 'n') AND (conrelid IN (SELECT oid FROM published) OR confrelid IN (SELECT oid FROM published))`,
	`SELECT inhrelid, 'pg_catalog.pg_class' FROM pg_catalog.pg_inherits
		WHERE inhrelid IN (SELECT oid FROM published) OR inhparent IN (SELECT oid FROM published)`,
	`SELECT d.refobjid, d.refclassid::pg_catalog.regclass::text FROM pg_catalog.pg_depend d
		WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid IN (SELECT oid FROM published)
			AND d.refclassid <> ALL ('{pg_catalog.pg_class, pg_catalog.pg_constraint, pg_catalog.pg_collation, pg_catalog.pg_type,
				pg_catalog.pg_namespace, pg_catalog.pg_am}'::pg_catalog.regclass[])`,
	`SELECT t.oid, 'pg_catalog.pg_type' FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_type t ON t.oid = d.refobjid
		JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
		WHERE d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
			AND d.objid IN (SELECT oid FROM published) AND pg_catalog.starts_with(n.nspname::text, 'pg_temp')`,
	`SELECT d.objid, d.classid::pg_catalog.regclass::text FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_type t ON t.oid = d.refobjid
		WHERE d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass
			AND (t.oid IN (SELECT reltype FROM published) OR t.typelem IN (SELECT reltype FROM published WHERE reltype > 0))
			AND d.classid IN ('pg_catalog.pg_cast'::pg_catalog.regclass, 'pg_catalog.pg_transform'::pg_catalog.regclass)`,
}

// PublishedFaults selects descriptions of the objects of [Published], or on its tables, that must not be there.
var PublishedFaults = "WITH " + published + `
	SELECT pg_catalog.pg_describe_object(f.class::pg_catalog.regclass, f.oid, 0) FROM (` + strings.Join(faults, " UNION ALL ") +
	`) AS f (oid, class)`

// Publication is the schema of published tables, with the event trigger that keeps other objects out of it, and that gives a new table
// its record.
func Publication() []Object {
	guard, trigger := guardFunction(), "dp_published"
	return []Object{Schema(Published), guard, {
		Key:    Key{KindEventTrigger, trigger},
		Create: "CREATE EVENT TRIGGER " + trigger + " ON ddl_command_end EXECUTE FUNCTION dp.keep_published()",
		Drop:   "DROP EVENT TRIGGER " + trigger,
		State: fmt.Sprintf(`SELECT %s, e.evtenabled = 'O' AND r.rolsuper AND e.evtfoid = pg_catalog.to_regproc('dp.keep_published')
			FROM pg_catalog.pg_event_trigger e JOIN pg_catalog.pg_roles r ON r.oid = e.evtowner WHERE e.evtname = %s`,
			quote.Literal(Owner), quote.Literal(trigger)),
		Needs: []Key{guard.Key},
	}}
}

// guardFunction looks at the schema after each command that may change it. It leaves superusers alone: sync has its own proof.
func guardFunction() Object {
	const signature = "dp.keep_published()"
	return Object{
		Key: Key{KindFunction, signature},
		Create: `CREATE FUNCTION ` + signature + ` RETURNS event_trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dp$
		DECLARE
			fault text;
			told json := nullif(current_setting('` + Publishing + `', true), '')::json;
			made record;
			reader text;
		BEGIN
			IF current_setting('is_superuser') = 'on' OR NOT EXISTS (
				SELECT FROM pg_event_trigger_ddl_commands() AS c WHERE c.schema_name = '` + Published + `'
					OR c.classid IN ('pg_rewrite'::regclass, 'pg_trigger'::regclass, 'pg_policy'::regclass, 'pg_cast'::regclass,
						'pg_transform'::regclass, 'pg_statistic_ext'::regclass, 'pg_constraint'::regclass)
					OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.objid)
					OR EXISTS (SELECT FROM pg_constraint WHERE conrelid = c.objid AND contype = 'f')) THEN
				RETURN;
			END IF;
			fault := (` + PublishedFaults + ` LIMIT 1);
			IF fault IS NOT NULL THEN
				RAISE EXCEPTION USING ERRCODE = '42501',
					MESSAGE = format('the schema "` + Published + `" has tables, indexes and comments alone: %s', fault),
					HINT = 'Anything else could run code of its owner in a session that reads the table. '
						'Temporary objects can be of any kind.';
			END IF;
			FOR made IN SELECT c.objid::regclass AS name FROM pg_event_trigger_ddl_commands() AS c
				WHERE told IS NOT NULL AND c.schema_name = '` + Published + `' AND c.command_tag IN ('CREATE TABLE AS', 'SELECT INTO')
			LOOP
				PERFORM set_config('` + Publishing + `', '', true);
				EXECUTE format('COMMENT ON TABLE %1$s IS %2$L; COMMENT ON TYPE %1$s IS %3$L', made.name, told->>'comment', told->>'record');
				FOR reader IN
					SELECT r.rolname FROM pg_roles r JOIN json_array_elements_text(told->'readers') AS t ON t = r.rolname
				LOOP
					EXECUTE format('GRANT SELECT ON %s TO %I', made.name, reader);
				END LOOP;
			END LOOP;
		END $dp$;
ALTER FUNCTION ` + signature + ` OWNER TO ` + Owner,
		Drop: "DROP FUNCTION " + signature + " CASCADE",
		State: "SELECT proowner::regrole::text, NOT prosecdef FROM pg_proc WHERE oid = to_regprocedure(" +
			quote.Literal(signature) + ")",
	}
}

// GrantPublish lets a role make tables in [Published].
func GrantPublish(role string) Object {
	return grant(role, "CREATE ON SCHEMA "+Published, fmt.Sprintf(
		"pg_namespace o, aclexplode(o.nspacl) x WHERE x.privilege_type = 'CREATE' AND o.nspname = %s", quote.Literal(Published)),
		schemaKey(Published))
}
