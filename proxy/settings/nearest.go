package settings

// nearest returns the name that a misspelt one is nearest to, if it differs by two letters at most; "" if there is none.
func nearest(name string, names []string) string {
	best, least := "", 3
	for _, k := range names {
		if d := edits(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// edits counts the letters that are added, left out and replaced between two names (Levenshtein's distance).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
