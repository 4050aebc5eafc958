package proxy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpproxy/planner"
	"dpproxy/proxy/replay"
)

// replay states errors of replicas for columns of these names, which no formula has. unbounded says that limits may leave out more of the
// released values than can be told.
func (a *account) replay(r replay.Account, of []string, unbounded bool) {
	errors, columns, names := slices.Clone(a.errors), slices.Clone(a.columns), []string(nil)
	for _, c := range r.Columns {
		at := slices.Index(errors, planner.NotKnown(c.Name))
		if at < 0 || !slices.Contains(of, c.Name) {
			continue
		}
		if said, ok := ofReplicas(c); ok {
			errors[at], names = "By replays it is known: "+said+" ("+perCent(a.confidence)+").", append(names, c.Name)
			for i := range columns {
				if columns[i].replayed && columns[i].name == c.Name {
					columns[i].said = said
				}
			}
		}
	}
	if names == nil {
		return
	}
	if a.errors, a.columns = errors, columns; unbounded {
		moved := strings.Join(names, ", ")
		a.outside = append(slices.Clip(a.outside), "what limits do to "+moved)
		a.leftOut = append(slices.Clip(a.leftOut), "Limits leave out more of "+moved+" than can be told.")
	}
	if r.Failed > 0 {
		a.failed = fmt.Sprintf("%d of %d replays, which fail (%s)", r.Failed, r.Replicas, r.Code)
	}
	a.how = append(slices.Clip(a.how), howReplayed(r, names, a.hidden > 0))
}

// howReplayed says where the errors of columns come from.
func howReplayed(r replay.Account, columns []string, hidden bool) string {
	said := fmt.Sprintf("The error of %s is from %d replays of the statement with fresh noise.",
		strings.Join(columns, ", "), r.Replicas-r.Failed)
	if r.Shifted > 0 {
		said += fmt.Sprintf(" How far limits may move it is seen in %d more, without noise, and is a part of it.", r.Shifted)
	}
	if r.Failed > 0 {
		said += fmt.Sprintf(" In %s more the statement fails (%s).", times(r.Failed), r.Code)
	}
	if missing := int(math.Ceil(100 * (1 - r.Least))); missing > 0 {
		said += fmt.Sprintf(" A row that is shown is missing in up to %d of 100 replays.", missing)
	}
	if hidden {
		said += " It is the error of a computation from the values that are shown."
	}
	return said
}

func times(n int) string {
	if n == 1 {
		return "one"
	}
	return fmt.Sprint(n)
}

// ofReplicas writes the error of a column; ok is false if none of its values has one.
func ofReplicas(c replay.Column) (said string, ok bool) {
	if c.Agree > 0 {
		return fmt.Sprintf("%s the same in %d of 100 replays", c.Name, int(100*c.Agree)), true
	}
	e, ends := planner.ReplayedError(c.Name), 0
	for _, of := range c.Cells {
		if of.Up || of.Down {
			ends++
			continue
		}
		e.Add(of.Value, of.Value-of.Low, of.High-of.Value)
	}
	switch {
	case len(c.Cells) == 0:
		return "", false
	case len(c.Cells) == 1 && ends == 1:
		said = c.Name + " " + ofOneEnd(c.Cells[0])
	case ends == len(c.Cells):
		said = c.Name + " of one known end"
	default:
		said = e.String()
		if ends > 0 {
			said += fmt.Sprintf(", of %d values one end alone is known", ends)
		}
	}
	if c.Unknown > 0 {
		said += fmt.Sprintf(", of %d values unknown", c.Unknown)
	}
	return said, true
}

// ofOneEnd is the error of a value that noise has moved one way.
func ofOneEnd(c replay.Cell) string {
	end, moved := "at most "+planner.Number(c.High), "raised"
	if c.Down {
		end, moved = "at least "+planner.Number(c.Low), "lowered"
	}
	if c.By > 0 {
		end += fmt.Sprintf(", %s by noise by about %s", moved, upward(c.By))
	}
	return end
}

// upward rounds an amount up to two digits.
func upward(f float64) string { return planner.TwoDigits(f, math.Ceil) }
