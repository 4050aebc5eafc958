package plantest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Node is a node of an executed plan, with the number of rows that it handled.
type Node struct {
	// Name says what the node does. Its indent is its depth. It ends with the name of the sub-plan to which the node belongs, if any.
	Name string
	// Work is the number of loops, plus the numbers of rows that the node returned and removed, over all loops. It is 0 if the node was
	// never executed. The number of groups of a parallel worker depends on which rows it takes, so groups of workers do not count. The
	// inner side of a join that each process reads entirely counts once, because the number of processes that take part differs from run to
	// run.
	Work float64
	// Off is the error of Work. For several loops EXPLAIN prints mean numbers of rows, rounded. Off allows half a row in a loop for the
	// rows returned, and half a row for a single kind of removed rows.
	Off float64
}

// explained is a node in the output of EXPLAIN.
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

// Nodes returns the nodes of a plan from the output of EXPLAIN (ANALYZE, FORMAT JSON), parents first.
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

// A side is the place of a node among parallel processes.
type side int

const (
	outside  side = iota // executed by a single process
	shared               // below Gather: each process has a part, and executes the node once
	repeated             // below Gather: executed once for each row of another node
	each                 // below Gather: each process has all of it, once
)

// sideOf returns the side of a node, given its parent and the side of its parent.
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

// divided reports whether the processes take different rows in the node or in a node below it.
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

// nodesOf divides by the number of processes that do the same work.
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
	if e.Loops > 1 { // half a row each for the rows that it returned, and for the rows that it removed
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

// spread reports whether the node returns groups of parallel workers: several workers may return the same group.
func (e *explained) spread() bool {
	return e.Partial == "Partial" || e.Partial == "" && len(e.Plans) == 1 && e.Plans[0].spread()
}
