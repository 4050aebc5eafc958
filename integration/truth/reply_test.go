package truth_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A cell is a value with its interval; what is NULL is NaN.
type cell struct{ value, low, high float64 }

// stated reports whether the cell has an interval.
func (c cell) stated() bool { return !math.IsNaN(c.low) && !math.IsNaN(c.high) }

// A reply has rows by the texts of the columns that tell them apart.
type reply struct {
	columns []string // of values
	order   []string // of rows
	rows    map[string][]cell
}

// ask runs a statement in which two columns for the ends follow each value.
func ask(ctx context.Context, conn *pgx.Conn, sql string, ignored map[string]bool) (reply, error) {
	rows, err := conn.Query(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return reply{}, err
	}
	defer rows.Close()
	var names []string
	for _, f := range rows.FieldDescriptions() {
		names = append(names, f.Name)
	}
	r := reply{rows: map[string][]cell{}}
	for i := range names {
		if isValue(names, i) {
			r.columns = append(r.columns, strings.TrimSuffix(names[i+1], "_low"))
		}
	}
	for rows.Next() {
		var key []string
		var cells []cell
		for i, raw := 0, rows.RawValues(); i < len(raw); i++ {
			switch {
			case isValue(names, i):
				cells = append(cells, cell{number(raw[i]), number(raw[i+1]), number(raw[i+2])})
				i += 2
			case !ignored[names[i]]:
				key = append(key, strings.TrimRight(string(raw[i]), " "))
			}
		}
		r.add(strings.Join(key, ", "), cells)
	}
	return r, rows.Err()
}

// isValue reports whether the columns for the ends follow a column.
func isValue(names []string, i int) bool {
	return i+2 < len(names) && strings.HasSuffix(names[i+1], "_low") && strings.HasSuffix(names[i+2], "_high")
}

// add keeps rows with equal keys apart by their order.
func (r *reply) add(key string, cells []cell) {
	for again, first := 2, key; r.rows[key] != nil; again++ {
		key = fmt.Sprintf("%s (%d)", first, again)
	}
	r.order = append(r.order, key)
	r.rows[key] = cells
}

// number reads a value; one that is no number is NaN, as NULL is.
func number(raw []byte) float64 {
	x, err := strconv.ParseFloat(string(raw), 64)
	if raw == nil || err != nil {
		return math.NaN()
	}
	return x
}

// ignored returns the columns that are compared with nothing.
func (q question) ignored() map[string]bool {
	names := map[string]bool{}
	for _, m := range q.marks() {
		if m.ignored {
			names[m.as] = true
		}
	}
	return names
}

// truthOf returns the value that an answer should have had: NaN if there is none.
func (q question) truthOf(truth reply, key string, column int) float64 {
	value := math.NaN()
	if row, ok := truth.rows[key]; ok {
		value = row[column].value
	}
	if math.IsNaN(value) && q.additive(truth.columns[column]) {
		return 0
	}
	return value
}

// within reports whether the interval of an answer has the truth in it, if there is a truth.
func (c cell) within(truth float64) bool { return c.low <= truth && truth <= c.high }
