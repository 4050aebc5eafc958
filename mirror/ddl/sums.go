package ddl

import (
	"fmt"

	"dpproxy/mirror/quote"
)

// sidesKey is the type of an error with two sides.
var sidesKey = Key{KindType, "dp.sides"}

// sumFunctions are the aggregate that gives the error of a sum of released values, of their columns of errors: dp.error_of_sum. The noise
// of the values is independent, so that its errors add up as squares; whatever else their intervals have, such as all that limits leave
// out, adds up as it is. Of a value, as much counts as noise as its standard error explains at the confidence, 0.95 unless it is given: no
// noise of dpproxy has a larger quantile in units of that than Laplace's, −ln(1 − confidence)/√2, at confidences from 0.91 on. At
// lower ones a sum, which is nearer to a normal law than its parts, has that quantile, by a formula of Winitzki that is a little more. Of
// values without a standard error, the result is too wide, never too narrow.
func sumFunctions() []Object {
	const step, final = "dp.error_step(float8[], float8, float8, float8, float8, float8)", "dp.error_end(float8[])"
	const steps = "dp.error_step(float8[], float8, float8, float8, float8)"
	all := []Object{
		{
			Key: sidesKey,
			Create: `CREATE TYPE dp.sides AS (below float8, above float8);
ALTER TYPE dp.sides OWNER TO ` + Owner,
			Drop:  "DROP TYPE dp.sides CASCADE",
			State: "SELECT typowner::regrole::text, typtype = 'c' FROM pg_type WHERE oid = to_regtype('dp.sides')",
		},
		localFunction(step, "state float8[], lower float8, upper float8, value float8, stderr float8, confidence float8", "float8[]",
			"sql IMMUTABLE", `
		SELECT CASE WHEN $4 IS NULL THEN $1 ELSE
			ARRAY[s[1] + greatest(noise, normal) ^ 2, s[2] + ($4 - $2) - noise, s[3] + ($3 - $4) - noise] END
		FROM coalesce($1, '{0,0,0}') AS s,
			(SELECT CASE WHEN $6 > 0 AND $6 < 0.91 THEN $5 * 1.42 * sqrt(sqrt(w * w - l / 0.147) - w) ELSE 0 END AS normal
				FROM ln(1 - $6 * $6) AS l, LATERAL (SELECT 2 / (pi() * 0.147) + l / 2 AS w) AS w) AS g,
			LATERAL (SELECT CASE WHEN $5 IS NULL OR $6 IS NULL THEN 0
				ELSE greatest(0, least($4 - $2, $3 - $4, greatest(normal, $5 * -ln(1 - $6) / sqrt(2.0)))) END AS noise) AS n`),
		localFunction(steps, "state float8[], lower float8, upper float8, value float8, stderr float8", "float8[]",
			"sql IMMUTABLE", `
		SELECT dp.error_step($1, $2, $3, $4, $5, 0.95)`),
		localFunction(final, "state float8[]", "dp.sides", "sql IMMUTABLE", `
		SELECT CASE WHEN $1 IS NOT NULL THEN CAST(ROW(sqrt($1[1]) + $1[2], sqrt($1[1]) + $1[3]) AS dp.sides) END`),
	}
	all[2].Needs, all[3].Needs = append(all[2].Needs, all[1].Key), append(all[3].Needs, sidesKey)
	for _, arguments := range []string{"float8, float8, float8, float8", "float8, float8, float8, float8, float8"} {
		signature := "dp.error_of_sum(" + arguments + ")"
		all = append(all, Object{
			Key: Key{KindFunction, signature},
			Create: fmt.Sprintf("CREATE AGGREGATE %[1]s (SFUNC = dp.error_step, STYPE = float8[], FINALFUNC = dp.error_end"+
				");\nALTER AGGREGATE %[1]s OWNER TO %[2]s", signature, Owner),
			Drop: "DROP AGGREGATE " + signature + " CASCADE",
			State: "SELECT proowner::regrole::text, NOT prosecdef FROM pg_proc WHERE oid = to_regprocedure(" +
				quote.Literal(signature) + ")",
			Needs: []Key{all[1].Key, all[2].Key, all[3].Key},
		})
	}
	return all
}
