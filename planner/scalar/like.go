package scalar

import (
	"strings"

	"dpproxy/pgerr"
)

// checkPattern refuses a LIKE pattern for which Postgres raises on some rows only, and patterns long enough to affect the time of a read.
func checkPattern(pattern string, at int) error {
	const longest, wildcards = 256, 8
	if len(pattern) > longest || strings.Count(pattern, "%") > wildcards {
		return pgerr.New(pgerr.NotAllowed, "a LIKE pattern on protected data has at most %d bytes and %d %% signs", longest, wildcards).
			At(at).
			WithHint("Use a simpler pattern.")
	}
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '\\' {
			continue
		}
		if i++; i == len(pattern) {
			return pgerr.New(pgerr.NotAllowed, "a LIKE pattern must not end with the escape character").At(at).
				WithHint(`Write \\ for a backslash.`)
		}
	}
	return nil
}

// likeness is [NOT] LIKE and ILIKE, by their operators, with a constant pattern.
var likeness = &rule{reads: readsFirst, bounds: maybeNull, cost: likeCost, write: writeLike}

func writeLike(w *Writer, c *call) (fragment, error) {
	x, pattern := c.args[0], c.args[1]
	s, err := w.Env.text(pattern)
	if err != nil {
		return fragment{}, err
	}
	if s != nil {
		if err := checkPattern(*s, c.at); err != nil {
			return fragment{}, err
		}
	}
	if c.fn.ignoresCase() && !w.Env.UTF8 { // ILIKE converts the whole text to lower case
		return fragment{}, notUTF8("ILIKE", c.at)
	}
	f, err := w.write(x, clamped)
	if err != nil {
		return fragment{}, err
	}
	p, err := w.write(pattern, asIs)
	return fragment{sql: c.fn.sql(unestimated(x, f).sql, p.sql), typ: c.typ}, err
}
