package replay

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"dpproxy/estimate"
	"dpproxy/planner"
)

// The numbers of replicas, of those in one batch, and of cells in all replicas. No batch begins after the budget of time, in seconds, and
// none is larger than what those before it say can be done by then, but for the replicas without which there is no interval: they have
// patience. Rows longer than maxText in all are not kept: the client's query may make long texts.
const (
	most     = 199
	batch    = "25"
	maxCells = 500_000
	budget   = "0.3"
	patience = "2.5"
	maxCost  = "20000" // of one replica, as the mirror estimates it: about as long as the budget
	maxText  = "8000000"
)

// Settings are how the call gets its arguments, and leaves its result, in the session of the client.
const (
	querySetting  = "dp.replay_query"
	cellsSetting  = "dp.replay_cells"
	resultSetting = "dp.replay_result"
)

// Undoes says whether a session can run a block that undoes what it has done: not without the language of blocks, nor if it ends at the
// first error.
const Undoes = `pg_catalog.has_language_privilege('plpgsql', 'USAGE')
	AND pg_catalog.current_setting('exit_on_error') OPERATOR(pg_catalog.=) 'off'`

// Prepare is a query of one row that hands over the query ($1) and the cells ($2), unless the query may do something more than once that it
// does once: if a function of these names ($3) is volatile or is not one of Postgres or dpproxy, whatever it says of itself, or if one can
// stand behind other names ($4) or a cast. Nor does it if the session may not run the block, or ends at the first error.
const Prepare = `SELECT CASE WHEN ` + Undoes + ` AND NOT EXISTS (
	SELECT FROM pg_catalog.pg_proc AS p WHERE (p.provolatile OPERATOR(pg_catalog.=) 'v' OR p.pronamespace OPERATOR(pg_catalog.<>) ALL
		(SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname OPERATOR(pg_catalog.=) ANY ('{pg_catalog,dp}')))
	AND p.proname OPERATOR(pg_catalog.=) ANY (CAST($3 AS pg_catalog.text[]))
	AND p.proname OPERATOR(pg_catalog.<>) ALL (CAST('{random,clock_timestamp,timeofday}' AS pg_catalog.text[])))
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_operator AS o WHERE o.oprname OPERATOR(pg_catalog.=) ANY (CAST($4 AS pg_catalog.text[]))
		AND o.oprnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema())
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.relname OPERATOR(pg_catalog.=) ANY (CAST($4 AS pg_catalog.text[]))
		AND c.relnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()
		AND (c.relkind OPERATOR(pg_catalog.=) 'v' OR c.relrowsecurity))
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_type AS t WHERE t.typname OPERATOR(pg_catalog.=) ANY (CAST($4 AS pg_catalog.text[]))
		AND t.typnamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema() AND t.typtype OPERATOR(pg_catalog.=) 'd')
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_cast AS k JOIN pg_catalog.pg_proc AS p ON p.oid OPERATOR(pg_catalog.=) k.castfunc
		WHERE p.pronamespace OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema())
	THEN pg_catalog.set_config('` + querySetting + `', $1, false) IS NOT NULL
	AND pg_catalog.set_config('` + cellsSetting + `', $2, false) IS NOT NULL END`

// Block evaluates the query over all replicas. It raises nothing: each batch is a block that ends in an exception of its own, which undoes
// settings and writes, while the variables keep the rows. A batch that raises is evaluated again, replica by replica. The first batch is
// the answer alone. Types are those of Postgres, since the session can have others of these names.
const Block = `DO LANGUAGE plpgsql $dp$
DECLARE
	query CONSTANT pg_catalog.text := pg_catalog.current_setting('` + querySetting + `');
	cells pg_catalog.text[];
	same pg_catalog.text[]; -- the columns that all replicas have
	width pg_catalog.int4;
	base pg_catalog.int4;
	fewest pg_catalog.int4;
	r pg_catalog.int4;
	first pg_catalog.int4 := 0;
	until pg_catalog.int4 := 1;
	size pg_catalog.int4;
	length pg_catalog.int8 := 0;
	spent pg_catalog.float8 := 0;
	deadline pg_catalog.float8;
	plan pg_catalog.json;
	one pg_catalog.json;
	failed pg_catalog.text;
	code pg_catalog.text;
	results pg_catalog.json[] := '{}';
	start pg_catalog.timestamptz;
BEGIN
	cells := CAST(pg_catalog.current_setting('` + cellsSetting + `') AS pg_catalog.text[]);
	width := cells[1];
	fewest := cells[2];
	base := 3 + CAST(cells[3] AS pg_catalog.int4);
	same := cells[4 : base];
	r := (pg_catalog.cardinality(cells) - base) / width;
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan USING cells[base + 1 : base + width], 1, same;
	start := pg_catalog.clock_timestamp();
	IF CAST(plan -> 0 -> 'Plan' ->> 'Total Cost' AS pg_catalog.numeric) > ` + maxCost + ` THEN
		r := 0;
	END IF;
	WHILE first < r LOOP
		deadline := CASE WHEN first > fewest THEN ` + budget + ` ELSE ` + patience + ` END;
		EXIT WHEN spent >= deadline;
		size := CASE WHEN first < until THEN 1
			ELSE least(` + batch + `, r - first, greatest(1, (deadline - spent) / (spent / first + 1e-6))) END;
		failed := NULL;
		BEGIN
			PERFORM pg_catalog.set_config('transaction_read_only', 'on', true);
			EXECUTE query INTO one USING cells[base + first * width + 1 : base + (first + size) * width], size, same;
			RAISE SQLSTATE 'DP000';
		EXCEPTION
			WHEN SQLSTATE 'DP000' THEN NULL;
			WHEN query_canceled OR read_only_sql_transaction THEN
				code := SQLSTATE;
				EXIT;
			WHEN OTHERS THEN failed := SQLSTATE;
		END;
		IF failed IS NOT NULL AND size > 1 THEN
			until := first + size;
			CONTINUE;
		END IF;
		IF failed IS NOT NULL THEN
			code := failed;
			one := 'null';
			EXIT WHEN first = 0; -- the answer itself
		END IF;
		length := length + coalesce(pg_catalog.octet_length(CAST(one AS pg_catalog.text)), 0);
		EXIT WHEN length > ` + maxText + `;
		results := results || pg_catalog.json_build_object('rows', one, 'failed', failed IS NOT NULL, 'size', size);
		first := first + size;
		spent := EXTRACT(epoch FROM pg_catalog.clock_timestamp() - start);
	END LOOP;
	PERFORM pg_catalog.set_config('` + resultSetting + `',
		CAST(pg_catalog.json_build_object('code', code,
			'digits', CAST(pg_catalog.current_setting('extra_float_digits') AS pg_catalog.int4), 'batches', results)
			AS pg_catalog.text), false);
EXCEPTION WHEN query_canceled OR OTHERS THEN
	PERFORM pg_catalog.set_config('` + resultSetting + `', '', false);
END $dp$`

// Fetch is a query of one row with the result, which forgets it.
const Fetch = `SELECT pg_catalog.current_setting('` + resultSetting + `', true), pg_catalog.set_config('` + querySetting + `', '', false),
	pg_catalog.set_config('` + cellsSetting + `', '', false), pg_catalog.set_config('` + resultSetting + `', '', false)`

// Cells are the columns of the blocks, of the answer and of each replica.
type Cells struct {
	// Text is the argument of Block: the numbers of columns that replicas differ in, of replicas without which there is no interval, and of
	// columns that are the same in all; these columns, and then the others, of the answer and of one replica after another.
	Text string
	// Shifted is how many of the replicas behind the answer have no noise, but values as limits may have moved them, and Guessed how many
	// of those behind these have no noise, but values that may be the true ones.
	Shifted, Guessed int
	// Untold says that limits may have moved values, and that no replica shows how far.
	Untold bool
	places []place
}

// A place is that of a column of the blocks: among those that are the same in all replicas, or among those of one replica.
type place struct {
	same bool
	at   int
}

// Cells draws replicas, as many as an interval of level α needs at least, and fewer the more cells each has and the longer each takes by
// the clock now. Replicas that limits have moved are left out if they would be too many, or take too long. ok is false if there would be
// too few, or ctx has ended.
func (s *Statement) Cells(ctx context.Context, now func() time.Time, r *Replicas, alpha float64) (c Cells, ok bool) {
	n, room, fewest := most, maxCells, estimate.FewestReplicas(alpha)
	if cells := r.cells(); cells > 0 {
		room = maxCells / cells
	}
	n = min(n, room)
	needed := fewest + fewest/4 // some may fail
	if s.width == 0 || n < needed+fewGuesses {
		return c, false
	}
	p := paced(now)
	drawn := p.several(ctx, needed, func(int) [][]string { return r.Next() })
	if drawn == nil {
		return c, false
	}
	shifting := newShifted(r)
	shifts := shifting.replicas(shifting.parts(room - needed - fewGuesses))
	without := p.several(ctx, len(shifts), func(i int) [][]string { return shifting.columns(shifts[i]) })
	shifted := len(without)
	guessing := newGuessing(r, alpha)
	guesses := guessing.all(room - needed - shifted)
	drawn = append(drawn, p.more(ctx, min(n, max(room-shifted-len(guesses), needed))-needed, r.Next)...)
	guessed := p.several(ctx, len(guesses), func(i int) [][]string { return guessing.replica(guesses[i]) })
	if len(guessed) < len(guesses) {
		return c, false
	}
	var all [][]string
	for _, columns := range slices.Concat([][][]string{shifting.released}, without, guessed, drawn) {
		all = append(all, slices.Concat(columns...))
	}
	c, width := arranged(all)
	if width == 0 || ctx.Err() != nil {
		return c, false
	}
	c.Untold = shifting.any() && shifted == 0
	c.Shifted, c.Guessed, fewest = shifted, len(guessed), shifted+len(guessed)+2*fewest // as many may fail
	var same, cells []*string
	for i, p := range c.places {
		if p.same {
			same = append(same, &all[0][i])
		}
	}
	for _, columns := range all {
		for i, p := range c.places {
			if !p.same {
				cells = append(cells, &columns[i])
			}
		}
	}
	head := []*string{new(strconv.Itoa(width)), new(strconv.Itoa(fewest)), new(strconv.Itoa(len(same)))}
	c.Text = planner.ArrayText(slices.Concat(head, same, cells))
	return c, true
}

// arranged finds places for columns, and counts those that differ.
func arranged(all [][]string) (c Cells, width int) {
	for i, text := range all[0] {
		if slices.ContainsFunc(all, func(columns []string) bool { return columns[i] != text }) {
			c.places = append(c.places, place{false, width})
			width++
		} else {
			c.places = append(c.places, place{true, i - width})
		}
	}
	return c, width
}

var errResult = errors.New("replay: the result of a replay is not as it was asked for")

// An outcome is the rows of one replica, in their order, and their keys. One that failed has none.
type outcome struct {
	rows   [][]*string
	keys   []string
	failed bool
}

// A result is the text that Block leaves.
type result struct {
	Code    string
	Digits  int // extra_float_digits
	Batches []struct {
		Size   int
		Failed bool
		Rows   [][]*string
	}
}

// outcomes reads the result: of the answer itself, and of the replicas that were evaluated; and what else there is in it.
func outcomes(text []byte) (all []outcome, r result, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, r, err
	}
	for _, b := range r.Batches {
		own := make([]outcome, max(b.Size, 1))
		own[0].failed = b.Failed
		slices.SortFunc(b.Rows, func(x, y []*string) int { return placeOf(x) - placeOf(y) })
		for _, row := range b.Rows {
			if len(row) < 3 || row[0] == nil || row[2] == nil {
				return nil, r, errResult
			}
			n, err := strconv.Atoi(*row[0])
			if err != nil || n < 0 || n >= len(own) {
				return nil, r, errResult
			}
			own[n].keys, own[n].rows = append(own[n].keys, *row[2]), append(own[n].rows, row[3:])
		}
		all = append(all, own...)
	}
	return all, r, nil
}

// placeOf is the place of a row in the reply.
func placeOf(row []*string) int {
	if len(row) < 2 || row[1] == nil {
		return 0
	}
	n, _ := strconv.Atoi(*row[1])
	return n
}
