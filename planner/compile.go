package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"dpproxy/parser"
	"dpproxy/pgerr"
)

// A Template is the SQL of a query once the types of its constants are known.
// It holds no values and can be cached by (text, types).
type Template struct {
	query  *Query
	blocks []compiled
	likes  []likeUse
	shape  string

	mu    sync.Mutex
	plans map[Settings]*Plan
}

// compiled is the statement that reads one block.
type compiled struct {
	sql    string
	params []Param
}

// A Param is one parameter of a DATA statement, by its source.
type Param struct {
	Kind ParamKind
	Fold int    // for FoldParam: index into the fold values
	Text string // for TextParam
}

// A ParamKind is where the value of a parameter comes from.
type ParamKind uint8

// The sources of parameters.
const (
	FoldParam     ParamKind = iota + 1 // a constant of the analyst, as the mirror evaluated it
	TextParam                          // text from the policy
	InnerPadParam                      // the secret, as the inner block of HMAC-SHA256
	OuterPadParam                      // the secret, as the outer block of HMAC-SHA256
)

// likeUse is a constant that is used as a LIKE pattern.
type likeUse struct{ fold, at int }

// Compile writes the SQL, given the type OIDs of the folds as the mirror
// reported them.
func (q *Query) Compile(oids []uint32) (*Template, error) {
	t := &Template{query: q}
	digest := sha256.New()
	for _, b := range q.blocks {
		c := &compiler{q: q, b: b, t: t, oids: oids, foldParam: map[int]int{}}
		sql, err := c.block()
		if err != nil {
			return nil, err
		}
		t.blocks = append(t.blocks, compiled{sql, c.params})
		digest.Write([]byte(sql + "\x00"))
	}
	t.shape = hex.EncodeToString(digest.Sum(nil)[:16])
	return t, nil
}

// compiler writes the SQL of one block.
type compiler struct {
	q         *Query
	b         *block
	t         *Template
	oids      []uint32
	params    []Param
	foldParam map[int]int // fold -> its $n, so that a fold is one parameter
}

func (c *compiler) param(p Param) string {
	c.params = append(c.params, p)
	return "$" + strconv.Itoa(len(c.params))
}

// block writes the statement. Two forms exist: where a key proves that a unit
// has one row, rows are counted as they are; otherwise contributions are bounded
// per unit, first in rows, then in partitions.
func (c *compiler) block() (string, error) {
	if !c.b.reads() {
		return "", nil
	}
	rows, err := c.rows()
	if err != nil {
		return "", err
	}
	keys := c.keys("")
	if c.b.table.oneRow {
		return "SELECT " + list(keys, c.perRow()) + "\nFROM (" + rows + ") AS r" + c.insideDomain() + groupBy(keys), nil
	}
	var b strings.Builder
	b.WriteString("WITH r AS (" + rows + "),\n")
	from := "r"
	where := c.insideDomain()
	if c.choosesRows() {
		b.WriteString(c.chooseRows(where))
		from, where = "o", fmt.Sprintf("\n  WHERE o <= %d", c.b.rows())
	}
	b.WriteString("p AS (SELECT " + list([]string{"u"}, keys, c.perUnit()) + "\n  FROM " + from + where + groupBy(append([]string{"u"}, keys...)) + ")")
	from, where = "p", ""
	if c.b.l0() < int64(c.b.size()) {
		b.WriteString(c.choosePartitions())
		from, where = "q", fmt.Sprintf("\nWHERE q <= %d", c.b.l0())
	}
	b.WriteString("\nSELECT " + list(keys, c.total()) + "\nFROM " + from + where + groupBy(keys))
	return b.String(), nil
}

// choosesRows reports whether it matters which rows of a unit are kept: not
// when rows are only counted.
func (c *compiler) choosesRows() bool {
	for _, m := range c.b.measures {
		if m.kind != countRows {
			return true
		}
	}
	return false
}

// rows selects unit, keys and columns of every row that the condition keeps.
func (c *compiler) rows() (string, error) {
	t := c.b.table
	last := len(t.unit.steps)
	unit := tableColumn(last, t.unit.column)
	var cols []string
	if !t.oneRow {
		cols = append(cols, unit+" AS u")
	}
	for i := range c.b.groups {
		cols = append(cols, c.ordinal(&c.b.groups[i])+" AS k"+strconv.Itoa(i+1))
	}
	if c.choosesRows() {
		for i, col := range c.b.used {
			cols = append(cols, tableColumn(0, col.Name)+" AS c"+strconv.Itoa(i+1))
		}
	}
	if len(cols) == 0 {
		cols = []string{"1 AS one"}
	}
	var from strings.Builder
	from.WriteString(qualified(t) + " AS t0")
	for i, s := range t.unit.steps {
		fmt.Fprintf(&from, "\n  JOIN %s AS t%d ON %s OPERATOR(pg_catalog.=) %s", qualified(s.to), i+1, tableColumn(i+1, s.key), tableColumn(i, s.from))
	}
	where := unit + " IS NOT NULL"
	if c.b.where != nil {
		cond, err := c.condition(c.b.where)
		if err != nil {
			return "", err
		}
		where += " AND " + cond
	}
	return "SELECT " + strings.Join(cols, ", ") + "\n  FROM " + from.String() + "\n  WHERE " + where, nil
}

// ordinal writes the position of a key in its public domain: 1, 2, ..., 0 for
// NULL where NULL is shown, and NULL for every key outside the domain.
func (c *compiler) ordinal(g *group) string {
	elem := domainType(columnFamily(g.col.Type))
	x := tableColumn(0, g.col.Name)
	pos := fmt.Sprintf("pg_catalog.array_position(CAST(%s AS %s[]), CAST(%s AS %s))", c.param(Param{Kind: TextParam, Text: ArrayText(pointers(g.domain))}), elem, x, elem)
	if g.null {
		return "CASE WHEN " + x + " IS NULL THEN 0 ELSE " + pos + " END"
	}
	return pos
}

// insideDomain drops rows whose key is not shown, before anything is counted.
func (c *compiler) insideDomain() string {
	if len(c.b.groups) == 0 {
		return ""
	}
	return "\n  WHERE " + strings.Join(c.keys(" IS NOT NULL"), " AND ")
}

func (c *compiler) keys(suffix string) []string {
	keys := make([]string, len(c.b.groups))
	for i := range keys {
		keys[i] = "k" + strconv.Itoa(i+1) + suffix
	}
	return keys
}

// chooseRows numbers the rows of each unit and partition in an order that only
// the secret knows, where there are more than may count.
func (c *compiler) chooseRows(where string) string {
	part := strings.Join(append([]string{"u"}, c.keys("")...), ", ")
	many := fmt.Sprintf("CASE WHEN n > %d THEN ", c.b.rows())
	canon := []string{c.unitBytes()}
	for i, col := range c.b.used {
		canon = append(canon, canonical(col, "c"+strconv.Itoa(i+1)))
	}
	bytes := strings.Join(canon, " || ")
	return "n AS (SELECT r.*, pg_catalog.count(*) OVER (PARTITION BY " + part + ") AS n\n  FROM r" + where + "),\n" +
		"o AS (SELECT n.*, pg_catalog.row_number() OVER (PARTITION BY " + part +
		"\n    ORDER BY " + many + c.hmac("'\\x01'", bytes) + " END, " + many + bytes + " END) AS o\n  FROM n),\n"
}

// choosePartitions numbers the partitions of each unit likewise.
func (c *compiler) choosePartitions() string {
	keys := c.keys("")
	canon := []string{c.unitBytes()}
	for _, k := range keys {
		canon = append(canon, "pg_catalog.int4send("+k+")")
	}
	return ",\nq AS (SELECT p.*, pg_catalog.row_number() OVER (PARTITION BY u\n    ORDER BY " +
		c.hmac("'\\x02'", strings.Join(canon, " || ")) + ", " + strings.Join(keys, ", ") + ") AS q\n  FROM p)"
}

func (c *compiler) unitBytes() string { return canonicalBytes(c.b.table.unit.oid, 'b', "u") }

// hmac writes HMAC-SHA256(secret, tag || message); the padded keys are
// parameters, so that the secret is in no text.
func (c *compiler) hmac(tag, message string) string {
	inner := "CAST(" + c.param(Param{Kind: InnerPadParam}) + " AS pg_catalog.bytea)"
	outer := "CAST(" + c.param(Param{Kind: OuterPadParam}) + " AS pg_catalog.bytea)"
	return "pg_catalog.sha256(" + outer + " || pg_catalog.sha256(" + inner + " || " + tag + "::pg_catalog.bytea || " + message + "))"
}

// perUnit writes each measure of one unit in one partition, clamped to what the
// sensitivity says.
func (c *compiler) perUnit() []string {
	var out []string
	for i, m := range c.b.measures {
		var x string
		switch limit := c.b.linf(m); m.kind {
		case countRows:
			x = fmt.Sprintf("LEAST(pg_catalog.count(*), %d)", limit)
		case countValues:
			x = fmt.Sprintf("LEAST(pg_catalog.count(%s), %d)", c.value(m.col), limit)
		case sumValues, sumCentred:
			x = fmt.Sprintf("CAST(LEAST(GREATEST(COALESCE(%s, 0), -%d), %d) AS pg_catalog.int8)", c.sum(m), limit, limit)
		}
		out = append(out, x+" AS m"+strconv.Itoa(i+1))
	}
	return out
}

// perRow writes each measure over rows that are one for each unit.
func (c *compiler) perRow() []string {
	var out []string
	for _, m := range c.b.measures {
		switch m.kind {
		case countRows:
			out = append(out, "pg_catalog.count(*)")
		case countValues:
			out = append(out, "pg_catalog.count("+c.value(m.col)+")")
		case sumValues, sumCentred:
			out = append(out, "COALESCE("+c.sum(m)+", 0)")
		}
	}
	return out
}

// sum adds a column up. LEAST and GREATEST pass NULL over, so that it would count
// as a bound.
func (c *compiler) sum(m measure) string {
	x := "pg_catalog.sum(" + c.lattice(m) + ")"
	if !m.col.NotNull {
		x += " FILTER (WHERE " + c.value(m.col) + " IS NOT NULL)"
	}
	return x
}

// total adds the units up.
func (c *compiler) total() []string {
	var out []string
	for i := range c.b.measures {
		out = append(out, "COALESCE(pg_catalog.sum(m"+strconv.Itoa(i+1)+"), 0)")
	}
	return out
}

func (c *compiler) value(col *column) string {
	for i, u := range c.b.used {
		if u == col {
			return "c" + strconv.Itoa(i+1)
		}
	}
	return "" // every column of a measure was resolved, so it is in used
}

// lattice writes the int8 that a row contributes: clamped in the column's own
// type, scaled, rounded, and clamped again to the integer limits.
func (c *compiler) lattice(m measure) string {
	x, l, b := c.value(m.col), m.lattice, m.col.bounds
	switch columnFamily(m.col.Type) {
	case intFamily:
		x = "CAST(" + x + " AS pg_catalog.int8)"
	case numericFamily:
		x = fmt.Sprintf("CAST(pg_catalog.round(LEAST(GREATEST(CAST(%s AS pg_catalog.numeric), %s), %s) * %s) AS pg_catalog.int8)",
			x, numericLiteral(b.Low), numericLiteral(b.High), l.scale)
	case floatFamily:
		low, _ := b.Low.Float64()
		high, _ := b.High.Float64()
		x = fmt.Sprintf("CAST(LEAST(GREATEST(CAST(%s AS pg_catalog.float8), %s), %s) * %s AS pg_catalog.int8)",
			x, floatLiteral(low), floatLiteral(high), "CAST("+l.scale.String()+" AS pg_catalog.float8)")
	case noFamily, boolFamily, textFamily, dateFamily, instantFamily, uuidFamily, enumFamily: // never summed
	}
	x = fmt.Sprintf("LEAST(GREATEST(%s, %s), %s)", x, int8Literal(l.low), int8Literal(l.high))
	if m.kind == sumCentred {
		return fmt.Sprintf("2 * %s - (%s)", x, int8Literal(l.low+l.high))
	}
	return x
}

// linf bounds what one unit contributes to a measure in one partition.
func (b *block) linf(m measure) int64 {
	switch m.kind {
	case sumValues:
		return b.rows() * m.lattice.absolute()
	case sumCentred:
		return b.rows() * m.lattice.centred()
	case countRows, countValues:
	}
	return b.rows()
}

// canonical writes a column's value as bytes: equal for equal values, different
// for different ones, and self-delimiting. Of a column whose type cannot be
// compared, aggregates can only count the values; a composite value whose fields
// are all NULL counts, although it IS NULL.
func canonical(col *column, x string) string {
	oid := baseOID(col.Type)
	if columnFamily(col.Type) == noFamily {
		return "pg_catalog.int4send(pg_catalog.num_nulls(" + x + "))"
	}
	return "COALESCE('\\x01'::pg_catalog.bytea || " + canonicalBytes(oid, col.Type.Kind, x) + ", '\\x00')"
}

func canonicalBytes(oid uint32, kind byte, x string) string {
	switch {
	case kind == 'e', oid == oidText, oid == oidVarchar, oid == oidBpchar:
		return "pg_catalog.textsend(CAST(" + x + " AS pg_catalog.text)) || '\\x00'::pg_catalog.bytea"
	case oid == oidNumeric:
		x = "pg_catalog.trim_scale(" + x + ")"
	case oid == oidFloat4 || oid == oidFloat8:
		f := "CAST(" + x + " AS pg_catalog.float8)"
		x = "CASE WHEN " + f + " = 0 THEN 0 WHEN " + f + " = 'NaN'::pg_catalog.float8 THEN 'NaN'::pg_catalog.float8 ELSE " + f + " END"
	}
	return "pg_catalog." + sendFunction(oid) + "(" + x + ")"
}

func qualified(t *table) string {
	return parser.QuoteIdent(t.name.Schema) + "." + parser.QuoteIdent(t.name.Name)
}

func tableColumn(i int, name string) string {
	return "t" + strconv.Itoa(i) + "." + parser.QuoteIdent(name)
}

func list(parts ...[]string) string {
	var all []string
	for _, p := range parts {
		all = append(all, p...)
	}
	return strings.Join(all, ", ")
}

func groupBy(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return "\n  GROUP BY " + strings.Join(keys, ", ")
}

func mismatch(a, b string, at int) error {
	return pgerr.New(pgerr.NotAllowed, "a comparison of %s with %s is not allowed on protected data", a, b).At(at).
		WithHint("Cast the constant to the column's type.")
}
