package shape

import (
	"maps"
	"slices"
)

// Circles returns the strongly connected components of a graph that have more than one node,
// the largest first: the sets of nodes of which each reaches all others.
func Circles(edges map[string][]string) [][]string {
	t := tarjan{edges: edges, index: map[string]int{}, low: map[string]int{}, open: map[string]bool{}}
	for _, node := range slices.Sorted(maps.Keys(edges)) {
		if t.index[node] == 0 {
			t.visit(node)
		}
	}
	slices.SortStableFunc(t.circles, func(a, b []string) int { return len(b) - len(a) })
	return t.circles
}

func largestCircle(edges map[string][]string) []string {
	if all := Circles(edges); len(all) > 0 {
		return all[0]
	}
	return nil
}

// tarjan is the state of Tarjan's algorithm (Depth-first search and linear graph algorithms,
// SIAM Journal on Computing 1(2), 1972).
type tarjan struct {
	edges      map[string][]string
	index, low map[string]int // from 1 on, in the order of discovery
	stack      []string
	open       map[string]bool // on the stack
	circles    [][]string
}

func (t *tarjan) visit(node string) {
	t.index[node] = len(t.index) + 1
	t.low[node] = t.index[node]
	t.stack, t.open[node] = append(t.stack, node), true
	for _, next := range t.edges[node] {
		if t.index[next] == 0 {
			t.visit(next)
			t.low[node] = min(t.low[node], t.low[next])
		} else if t.open[next] {
			t.low[node] = min(t.low[node], t.index[next])
		}
	}
	if t.low[node] < t.index[node] {
		return
	}
	start := slices.Index(t.stack, node)
	circle := slices.Sorted(slices.Values(t.stack[start:]))
	t.stack = t.stack[:start]
	for _, n := range circle {
		t.open[n] = false
	}
	if len(circle) > 1 {
		t.circles = append(t.circles, circle)
	}
}
