package proxy

import (
	"context"

	"dpproxy/pgerr"
	"dpproxy/proxy/survey"
	"dpproxy/wire"
)

// An estimation is the execution of a statement that calls dp.local_histogram or dp.local_mean.
type estimation struct{ *execution }

// An estimateState stands in the session for the functions on the mirror: the rows of a call with these arguments.
type estimateState struct {
	Mean       bool                 `json:"mean"`
	Table      string               `json:"table"`
	Of         string               `json:"of"`
	Confidence string               `json:"confidence"`
	Rows       []survey.EstimateRow `json:"rows"`
}

// maxEstimates bounds the estimates of a statement, each of which can take seconds.
const maxEstimates = 20

// estimates answers all calls of the statement whose arguments are known.
func (e estimation) estimates(ctx context.Context, b wire.BindRequest) ([]estimateState, error) {
	out := []estimateState{}
	calls := e.text.stmt.Estimates
	if len(calls) > maxEstimates {
		return nil, pgerr.New(pgerr.StatementTooComplex, "a statement has more than %d estimates", maxEstimates).
			At(calls[maxEstimates].At).WithHint("Write several statements.")
	}
	for _, call := range calls {
		known := true
		for _, a := range []struct {
			param int
			text  *string
		}{{call.Table.Param, &call.Table.Text}, {call.Question.Param, &call.Question.Text}} {
			if a.param == 0 {
				continue
			}
			if a.param > len(b.Params) || b.Params[a.param-1] == nil {
				known = false // the function says so
				continue
			}
			*a.text = string(b.Params[a.param-1]) // a text is the same in both formats
		}
		if !known {
			continue
		}
		rows, err := e.p.cfg.Surveys.Estimate(ctx, &call, e.analyst)
		if err != nil {
			return nil, err
		}
		confidence := call.Confidence
		if confidence == "" {
			confidence = "0.95"
		}
		out = append(out, estimateState{call.Mean, call.Table.Text, call.Question.Text, confidence, rows})
	}
	return out, nil
}
