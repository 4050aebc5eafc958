package sqltext

// MaxColumns is how many columns a SELECT of Postgres can have.
const MaxColumns = 1664

// Widest returns the largest number of columns that a SELECT of the query writes.
func (q *Select) Widest() int {
	if q == nil {
		return 0
	}
	most := max(len(q.Columns), widestOf(q.From))
	for _, n := range q.With {
		most = max(most, n.Query.Widest())
	}
	for _, u := range q.UnionAll {
		most = max(most, u.Widest())
	}
	return most
}

func widestOf(it Item) int {
	switch it := it.(type) {
	case *Query:
		return it.Select.Widest()
	case *Join:
		return max(widestOf(it.Left), widestOf(it.Right))
	case *Listed:
		return widestOf(it.Item)
	case *Table:
	}
	return 0
}
