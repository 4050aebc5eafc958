package plantest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Node is one of an executed plan, with the rows that it had to do with.
type Node struct {
	// Name says what the node does, and by its indent below which others. It ends with the name of the sub-plan of a
	// condition that the node is a part of.
	Name string
	// Work counts, over all loops, the loop itself, the rows that the node returned and those that it
	// left out. It is 0 of a node that was never executed. How many groups parallel workers have follows from which of them
	// takes which rows: these do not count. The inner side of a join that each process reads for itself counts once: who of them was
	// launched, and in time for a row, differs from run to run.
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
	Aware    bool    `json:"Parallel Aware"`

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
		all = append(all, s.Plan.nodes(0, "", outside)...)
	}
	return all, nil
}

// A side is where a node stands among parallel processes.
type side int

const (
	outside  side = iota // one process executes it
	shared               // below Gather: each process has a part, and executes it once
	repeated             // below Gather, once for each row of another node
	each                 // below Gather: each process has all of it, once
)

// sideOf returns where a node stands whose parent stands on a side.
func (e *explained) sideOf(parent *explained, above side) side {
	switch {
	case strings.HasPrefix(parent.Type, "Gather"):
		return shared
	case above != shared:
		return above
	case e.Role == "SubPlan", e.Role == "Inner" && parent.Type == "Nested Loop":
		return repeated
	case e.Role == "Inner" && !e.divided():
		return each
	}
	return shared
}

// divided reports whether the node, or one below, has processes take different rows.
func (e *explained) divided() bool {
	return e.Aware || slices.ContainsFunc(e.Plans, func(p explained) bool { return p.divided() })
}

func (e *explained) nodes(depth int, within string, at side) []Node {
	processes := 1.0
	if at == each {
		processes = max(1, e.Loops)
	}
	return e.nodesOf(depth, within, at, processes)
}

// nodesOf has what several processes do alike count once.
func (e *explained) nodesOf(depth int, within string, at side, processes float64) []Node {
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
	n.Work, n.Off = n.Work/processes, n.Off/processes
	all := []Node{n}
	for _, p := range e.Plans {
		if at == each {
			all = append(all, p.nodesOf(depth+1, within, each, processes)...)
		} else {
			all = append(all, p.nodes(depth+1, within, p.sideOf(e, at))...)
		}
	}
	return all
}

// spread reports whether the node returns groups of parallel workers, each of which may have the same.
func (e *explained) spread() bool {
	return e.Partial == "Partial" || e.Partial == "" && len(e.Plans) == 1 && e.Plans[0].spread()
}
