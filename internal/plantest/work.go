package plantest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Node is one of an executed plan, with the rows that it had to do with.
type Node struct {
	// Name says what the node does, and by its indent below which others. It ends with the name of the sub-plan of a
	// condition that the node is a part of.
	Name string
	// Work counts, over all loops, the loop itself, the rows that the node returned and those that it
	// left out. It is 0 of a node that was never executed. How many groups parallel workers have follows from which of them
	// takes which rows: these do not count.
	Work float64
	// Off is by how much the work may be more or less: of several loops EXPLAIN tells the mean number of rows, rounded.
	Off float64
}

// explained is a node as EXPLAIN writes it.
type explained struct {
	Type     string  `json:"Node Type"`
	Join     string  `json:"Join Type"`
	Role     string  `json:"Parent Relationship"`
	Subplan  string  `json:"Subplan Name"`
	Relation string  `json:"Relation Name"`
	CTE      string  `json:"CTE Name"`
	Alias    string  `json:"Alias"`
	Index    string  `json:"Index Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Joined   float64 `json:"Rows Removed by Join Filter"`
	Recheck  float64 `json:"Rows Removed by Index Recheck"`
	Partial  string  `json:"Partial Mode"`

	Plans []explained `json:"Plans"`
}

// Nodes reads what EXPLAIN (ANALYZE, FORMAT JSON) says of a statement, from above.
func Nodes(output []byte) ([]Node, error) {
	var statements []struct{ Plan *explained }
	if err := json.Unmarshal(output, &statements); err != nil {
		return nil, err
	}
	var all []Node
	for _, s := range statements {
		if s.Plan == nil {
			return nil, fmt.Errorf("plantest: no plan in %.200s", output)
		}
		all = append(all, s.Plan.nodes(0, "")...)
	}
	return all, nil
}

func (e *explained) nodes(depth int, within string) []Node {
	if e.Role == "SubPlan" {
		within = e.Subplan
	}
	words := []string{e.Join, e.Type, e.Relation, e.CTE, e.Alias, e.Index, within}
	if e.Role == "InitPlan" {
		words = append(words, e.Subplan)
	}
	n := Node{
		Name: strings.Repeat("  ", depth) + strings.Join(strings.Fields(strings.Join(words, " ")), " "),
		Work: e.Loops * (1 + e.Rows + e.Filtered + e.Joined + e.Recheck),
	}
	if e.Loops > 1 { // of the rows that it returned, and of those that it left out, half a row each
		n.Off = e.Loops
	}
	if e.spread() {
		n.Work = e.Loops
	}
	all := []Node{n}
	for _, p := range e.Plans {
		all = append(all, p.nodes(depth+1, within)...)
	}
	return all
}

// spread reports whether the node returns groups of parallel workers, each of which may have the same.
func (e *explained) spread() bool {
	return e.Partial == "Partial" || e.Partial == "" && len(e.Plans) == 1 && e.Plans[0].spread()
}
