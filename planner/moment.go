package planner

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A constant such as now() is what it is when the statement is asked. If the next second would make the statement another question, its
// answer is not found again.

// clocks are the words of SQL whose values are the time of the statement.
var clocks = []string{"current_timestamp", "localtimestamp", "now(", "transaction_timestamp(", "statement_timestamp(", "'now'"}

// asksOnce reports whether the block would be another question a second later.
func asksOnce(b *BlockPlan) bool {
	if b.asks == nil {
		return false
	}
	m, ok := b.asks.meanings.(meaner)
	if !ok {
		return false
	}
	other, moved := m.atAnotherMoment()
	return moved && slices.ContainsFunc(b.Sets, func(g *GroupingSet) bool {
		return slices.ContainsFunc(partsOf(&g.aggregation), func(p part) bool { return !slices.Equal(m.means(g, p), other.means(g, p)) })
	})
}

// atAnotherMoment returns the meaner with other seconds in the constants that have the fractions of seconds of a clock.
func (sp meaner) atAnotherMoment() (other meaner, moved bool) {
	values := slices.Clone(sp.env.Values)
	for i, f := range sp.b.constants.Folds() {
		sql := strings.ReplaceAll(strings.ToLower(f.SQL), `"`, "")
		if slices.ContainsFunc(clocks, func(c string) bool { return strings.Contains(sql, c) }) {
			if v, ok := anotherSecond(values[i]); ok {
				values[i], moved = v, true
			}
		}
	}
	own := *sp.specializer
	own.env = &scalar.Env{
		Values: values, TimeZones: sp.env.TimeZones, Before14: sp.env.Before14, UTF8: sp.env.UTF8, Extents: sp.env.Extents,
	}
	return meaner{&own, sp.most}, moved
}

// anotherSecond returns a point in time with other seconds, if it has a fraction of a second.
func anotherSecond(v scalar.Value) (scalar.Value, bool) {
	if v.OID != pgtype.Timestamp && v.OID != pgtype.Timestamptz {
		return v, false
	}
	v.Bytes = bytes.Clone(v.Bytes)
	const second = 1_000_000
	if v.Binary && len(v.Bytes) == 8 {
		at := binary.BigEndian.Uint64(v.Bytes)
		binary.BigEndian.PutUint64(v.Bytes, at+second)
		return v, at%second != 0
	}
	at := len("2006-01-02 15:04:0") // the last digit of the seconds
	if v.Binary || len(v.Bytes) <= at+1 || v.Bytes[at+1] != '.' {
		return v, false
	}
	v.Bytes[at] = '0' + '9' - v.Bytes[at]
	return v, true
}
