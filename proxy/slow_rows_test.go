package proxy_test

import (
	"context"
	"fmt"
	"testing"

	"dpproxy/dp"
	"dpproxy/proxy"
)

// rowsOfAll are statements whose rows dpproxy adds up, in each of its ways.
var rowsOfAll = []string{
	"SELECT diagnosis, sum(cost) FROM visits GROUP BY diagnosis",
	"SELECT hospital_id, count(*) FROM visits GROUP BY hospital_id",
	"SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY cost) FROM visits",
	"SELECT count(DISTINCT hospital_id) FROM visits",
	"SELECT sum(cost) FROM visits",
}

// spoiledWorld is a world whose protected database a spoiler stands before.
func spoiledWorld(t *testing.T) (*world, *spoiler) {
	t.Helper()
	s := &spoiler{left: -1}
	return newWorldOver(t, s.put, func(cfg *proxy.Config) {
		cfg.Defaults.EpsilonPico, cfg.Defaults.DeltaAtto = dp.PicoPerUnit, 1e9
	}, large(t)), s
}

// TestCancelledRows has a client cancel its statement while rows come: the charge stays, and the error is the same however many
// rows came before.
func TestCancelledRows(t *testing.T) {
	w, s := spoiledWorld(t)
	for _, sql := range rowsOfAll {
		one := w.price(t, func() { must(t, connect(t, w.url("ana")), sql) })
		var texts []string
		for _, rows := range []int{0, 900} {
			ana, reached := connect(t, w.url("ana")), make(chan struct{})
			go func() {
				<-reached
				_ = ana.PgConn().CancelRequest(context.Background())
			}()
			var err error
			cost := w.price(t, func() {
				err = w.spoiledRead(t, ana, s, sql, func() {
					s.at(rows, whole, func(c *spoiled) error {
						close(reached)
						return stays(c)
					})
				})
			})
			if code(err) != "57014" || cost != one {
				t.Errorf("%s, cancelled behind %d rows: %v, for %d, not %d", sql, rows, err, cost, one)
			}
			texts = append(texts, fmt.Sprint(err))
			must(t, connect(t, w.url("ana")), "SELECT 1")
		}
		if texts[0] != texts[1] {
			t.Errorf("%s: %q", sql, texts)
		}
	}
}

// TestSlowRows has rows come one by one, each when it is waited for: the statement is answered as it is of rows that come at once.
func TestSlowRows(t *testing.T) {
	w, s := spoiledWorld(t)
	for _, sql := range rowsOfAll {
		one := w.price(t, func() { must(t, connect(t, w.url("ana")), sql) })
		pace, answered, rows := make(chan struct{}), make(chan error, 1), 0
		cost := w.price(t, func() {
			s.paced(pace)
			defer s.paced(nil)
			ana := connect(t, w.url("ana"))
			go func() {
				_, err := ana.Exec(t.Context(), sql)
				answered <- err
			}()
			for waits := true; waits; {
				select {
				case pace <- struct{}{}:
					rows++
				case err := <-answered:
					if waits = false; err != nil {
						t.Errorf("%s: %v", sql, err)
					}
				}
			}
		})
		if cost != one || rows < 100 {
			t.Errorf("%s costs %d, not %d; %d rows", sql, cost, one, rows)
		}
	}
}

// TestLostBehindSelection loses the protected database when private groups were selected, and before the rest of them is read: the
// charge stays, and the error is the one of a read that was lost at its begin.
func TestLostBehindSelection(t *testing.T) {
	w, s := spoiledWorld(t)
	const sql = "SELECT hospital_id, percentile_disc(0.5) WITHIN GROUP (ORDER BY cost) FROM visits GROUP BY hospital_id"
	one := w.price(t, func() { must(t, connect(t, w.url("ana")), sql) })
	var texts []string
	for name, spoil := range map[string]func(){
		"at the begin":                func() { s.at(0, half, closes) },
		"behind selection":            func() { s.behindFirst(0, half, closes) },
		"behind rows after selection": func() { s.behindFirst(900, half, closes) },
	} {
		var err error
		cost := w.price(t, func() { err = w.spoiledRead(t, connect(t, w.url("ana")), s, sql, spoil) })
		if code(err) != "PB017" || cost != one {
			t.Errorf("%s: %v, for %d, not %d", name, err, cost, one)
		}
		texts = append(texts, fmt.Sprint(err))
		if err := w.ledger.ClearIncidents(t.Context(), "", "a test"); err != nil {
			t.Fatal(err)
		}
		again := w.price(t, func() { must(t, connect(t, w.url("ana")), sql) })
		if again != 0 { // it is prepaid
			t.Errorf("%s: asked again it costs %d", name, again)
		}
	}
	if texts[0] != texts[1] || texts[1] != texts[2] {
		t.Errorf("%q", texts)
	}
}
