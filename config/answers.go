package config

import "time"

// Answers says how long answers are remembered, so that the same question costs
// nothing.
type Answers struct {
	Remember bool // true
	Keep     int  // how many at most; 10,000
	// Refresh is how long the data count as the same: the clock is divided into
	// such spans, from 1970 on; 24 hours.
	Refresh time.Duration
	// Epoch names the data: another name makes all answers new, such as after a load.
	Epoch string
}

// maxAnswers bounds the remembered answers.
const maxAnswers = 10_000_000

// longest is the longest span for which data can count as the same.
const longest = 366 * 24 * time.Hour

// readSpan reads a time such as 24h.
func readSpan(v value) time.Duration {
	s, _ := scalarText(v.node)
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Minute || d > longest {
		v.fail("a time from 1m to 8784h is needed, such as 24h")
	}
	return d
}
