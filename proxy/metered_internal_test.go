package proxy

import (
	"errors"
	"testing"
	"time"

	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/work"
)

// The end of a statement_timeout ends an analysis, which is not remembered: the next session has more time.
func TestTimeoutOfAnalysis(t *testing.T) {
	cat := plannertest.Clinic(t)
	texts, err := newCache(planner.Names(cat)).get(parser.Text{SQL: "SELECT avg(cost) FROM visits"})
	if err != nil {
		t.Fatal(err)
	}
	within, stop := patience(t.Context(), time.Nanosecond)
	defer stop()
	<-within.Done()
	ended, _ := errors.AsType[*pgerr.Error](timely(texts[0].analyse(work.New(within, work.Most), cat, nil).err))
	if ended == nil || ended.Code != pgerr.QueryCanceled || ended.Message != "canceling statement due to statement timeout" {
		t.Errorf("%+v", ended)
	}
	first := texts[0].analyse(work.New(t.Context(), work.Most), cat, nil)
	if first.err != nil || texts[0].analyse(nil, cat, nil) != first {
		t.Errorf("%v, or it is not remembered", first.err)
	}
}
