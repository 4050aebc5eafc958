package survey

import (
	"context"
	"strconv"

	"dpproxy/parser"
	"dpproxy/pgerr"
	answers "dpproxy/survey"
)

// An EstimateRow is a row of dp.local_histogram or dp.local_mean.
type EstimateRow struct {
	Value  *string `json:"value,omitempty"` // of a histogram
	Share  float64 `json:"share"`           // or the mean
	Lower  float64 `json:"lower"`
	Upper  float64 `json:"upper"`
	Remark *string `json:"remark,omitempty"`
}

// estimates are those of a table after a number of surveys, with the replies that they have given.
type estimates struct {
	*answers.Estimates
	surveys int
	known   map[estimateKey][]EstimateRow
}

// An estimateKey is what an estimate is of.
type estimateKey struct {
	mean       bool
	text       string
	confidence float64
}

// maxEstimates bounds the replies that are remembered.
const maxEstimates = 1024

// Estimate estimates shares or a mean from all answers to the surveys of a table. It costs nothing.
func (d *Desk) Estimate(ctx context.Context, call *parser.EstimateCall, analyst string) ([]EstimateRow, error) {
	if d == nil {
		return nil, withoutTables(call.At)
	}
	t, err := d.table(call.Table.Text, analyst, call.Table.At)
	if err != nil {
		return nil, err
	}
	key := estimateKey{call.Mean, call.Question.Text, 0.95}
	if call.Confidence != "" {
		key.confidence, err = strconv.ParseFloat(call.Confidence, 64)
		if err != nil || !answers.Confident(key.confidence) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "a confidence is from %g to %g, not %q", answers.LeastConfidence,
				answers.MostConfidence, call.Confidence).At(call.At).WithHint("Leave it out for 0.95.")
		}
	}
	select { // one at a time: a fit may take seconds
	case t.estimating <- struct{}{}:
		defer func() { <-t.estimating }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e, err := t.estimated()
	if err != nil {
		return nil, err
	}
	if rows, ok := e.known[key]; ok {
		return rows, nil
	}
	rows, refusal := e.rows(key)
	if refusal != nil {
		return nil, placed(refusal, call.Question)
	}
	if len(e.known) >= maxEstimates {
		clear(e.known)
	}
	e.known[key] = rows
	return rows, nil
}

// estimated returns the estimates after the last survey. Its caller has the right to estimate.
func (t *table) estimated() (*estimates, error) {
	if err := t.take(); err != nil {
		return nil, err
	}
	defer func() { t.turn <- struct{}{} }()
	if t.answers.Frozen() != nil {
		return nil, t.frozenError()
	}
	if n := len(t.answers.Surveys()); t.estimates == nil || t.estimates.surveys != n {
		e, err := t.answers.Estimates(private(t.local))
		if err != nil {
			return nil, err
		}
		t.estimates = &estimates{e, n, map[estimateKey][]EstimateRow{}}
	}
	return t.estimates, nil
}

// rows estimates.
func (e *estimates) rows(of estimateKey) (rows []EstimateRow, refusal *pgerr.Error) {
	if of.mean {
		mean, refusal := e.Mean(of.text, of.confidence)
		return []EstimateRow{rowOf(mean, nil)}, refusal
	}
	values, shares, refusal := e.Histogram(of.text, of.confidence)
	for i, s := range shares {
		rows = append(rows, rowOf(s, &values[i]))
	}
	return rows, refusal
}

func rowOf(e answers.Estimate, value *string) EstimateRow {
	row := EstimateRow{Value: value, Share: e.Value, Lower: e.Low, Upper: e.High}
	if e.Remark != "" {
		row.Remark = &e.Remark
	}
	return row
}
