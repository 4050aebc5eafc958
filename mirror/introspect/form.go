package introspect

// Fragments of [FingerprintOf] about queries: those of views, and all that they compute rows from.

// asMeant writes a tree of nodes (pg_node_tree) without the places in the text that it was made from and without how a cast was
// written: both are numbers behind words, and Postgres ignores both when it compares trees (equalfuncs.c). So a view that is put back
// as it was is as it was.
func asMeant(tree string) string {
	const place = "'location '"
	text := "CAST(" + tree + " AS pg_catalog.text)"
	for _, number := range []string{"'stmt_len '", "'format '"} {
		text = "pg_catalog.replace(" + text + ", " + number + ", " + place + ")"
	}
	return "(SELECT pg_catalog.md5(pg_catalog.string_agg(pg_catalog.ltrim(part.of, '-0123456789'), '' ORDER BY part.n))" +
		" FROM pg_catalog.unnest(pg_catalog.string_to_array(" + text + ", " + place + ")) WITH ORDINALITY AS part(of, n))"
}

// rulesText writes the rules of a relation; that of a view is its query.
func rulesText(relation string) string {
	return `(SELECT pg_catalog.string_agg(ROW(r.rulename, r.ev_type, r.ev_enabled, r.is_instead, ` + asMeant("r.ev_qual") + `, ` +
		asMeant("r.ev_action") + `)::text, ',' ORDER BY r.rulename)
     FROM pg_catalog.pg_rewrite r WHERE r.ev_class = ` + relation + `)`
}

// generatedText writes the expression of a generated column a.
var generatedText = `CASE WHEN a.attgenerated <> '' THEN (SELECT ` + asMeant("x.adbin") + `
     FROM pg_catalog.pg_attrdef x WHERE x.adrelid = a.attrelid AND x.adnum = a.attnum) END`

// computedText writes all objects made by users that the query of a view c needs, at any depth, as Postgres records dependencies:
// relations with their names, queries and children that inherit (a partition only has rows of its table), functions with their
// texts, and others, such as operators and types, whose functions are among them. A query names columns by their numbers, and has
// their types. Postgres records which relations a function reads only if its body is of the form of the SQL standard.
var computedText = `CASE WHEN c.relkind IN ('v', 'm') THEN (
  WITH RECURSIVE below(class, oid) AS (
    SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, c.oid
    UNION
    SELECT next.class, next.oid FROM below CROSS JOIN LATERAL (
      SELECT d.refclassid, d.refobjid FROM pg_catalog.pg_rewrite w
        JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
       WHERE below.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND w.ev_class = below.oid
      UNION ALL
      SELECT below.class, h.inhrelid FROM pg_catalog.pg_inherits h JOIN pg_catalog.pg_class r ON r.oid = h.inhparent AND r.relkind = 'r'
       WHERE below.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND h.inhparent = below.oid
      UNION ALL
      SELECT d.refclassid, d.refobjid FROM pg_catalog.pg_depend d
       WHERE below.class <> 'pg_catalog.pg_class'::pg_catalog.regclass AND d.classid = below.class AND d.objid = below.oid
    ) AS next(class, oid)
    WHERE next.oid >= 16384 AND next.class <> 'pg_catalog.pg_namespace'::pg_catalog.regclass)
  SELECT pg_catalog.md5(pg_catalog.string_agg(ROW(below.class, below.oid,
      (SELECT ROW(n.nspname, r.relname, r.relkind, r.relrowsecurity)::text
         FROM pg_catalog.pg_class r JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
        WHERE below.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND r.oid = below.oid),
      CASE WHEN below.class = 'pg_catalog.pg_class'::pg_catalog.regclass THEN ` + rulesText("below.oid") + ` END,
      (SELECT ROW(n.nspname, p.proname, p.prolang, p.prokind, p.provolatile, p.proisstrict, p.prosecdef, p.prorettype, p.proargtypes,
              p.prosrc, p.probin, p.proconfig, ` + asMeant("pg_catalog.to_jsonb(p) OPERATOR(pg_catalog.->>) 'prosqlbody'") + `)::text
         FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE below.class = 'pg_catalog.pg_proc'::pg_catalog.regclass AND p.oid = below.oid)
    )::text, ',' ORDER BY below.class, below.oid)) FROM below) END`
