package tpch

import _ "embed"

// A Query is one of the benchmark's queries with the parameters that its
// specification validates answers with.
type Query struct {
	// Name is Q and the query's number.
	Name string
	// SQL is the text, without a semicolon.
	SQL string
	// MaxSum is the most that one customer may add to a sum, as a decimal number, for
	// dp.max_sum; empty where max_rows and the bounds of the columns suffice.
	MaxSum string
}

var (
	//go:embed queries/q1.sql
	q1 string
	//go:embed queries/q5.sql
	q5 string
	//go:embed queries/q6.sql
	q6 string
	//go:embed queries/q14.sql
	q14 string
	//go:embed queries/q19.sql
	q19 string
)

// Queries returns Q1 (scan with many aggregates), Q5 (join of six tables), Q6
// (selective scan), Q14 (ratio of two sums) and Q19 (disjunction of conjunctions).
func Queries() []Query {
	return []Query{
		{"Q1", q1, ""},
		{"Q5", q5, "1000000"},
		{"Q6", q6, "100000"},
		{"Q14", q14, "1000000"},
		{"Q19", q19, "100000"},
	}
}
