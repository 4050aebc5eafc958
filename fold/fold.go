package fold

import (
	"bytes"
	"context"
)

// A Sum is that of all units of one level in one group, in one node of the tree of buckets, or of different values.
type Sum struct {
	// Keys are those of the group, nil for NULL.
	Keys  [][]byte
	Level int
	// Node counts all nodes, those of the tree's coarsest level first.
	Node int
	Rows int64
	// Directions is the sum of the parts that rows are of the norm of their unit.
	Directions int64
}

// A Fold is at work on the rows of one statement.
type Fold struct {
	spec  *Spec
	norm  norm
	order *order
	most  int // bytes

	// byUnit says that the rows come unit by unit, which is then finished when another one comes.
	byUnit bool
	// full says that there are too many rows to keep.
	full bool

	lists             []*lookup
	units, values     *table
	groups            *grouping
	rows              pieces[row]
	lastUnit          []byte // the identity of the unit of the last row
	unitNumber        uint32
	groupNumber       uint32 // of the last row
	scratch, identity []byte
	message           []byte   // of an order
	picked            []uint32 // things in it
	own               []entry  // of the unit whose rows come, or are finished
	merged            int      // how many of these are merged

	levels  []int64 // units by level
	buckets *buckets
	kinds   *different
	adds    *summing
}

// A row has the numbers of its unit, its group and its value.
type row struct{ unit, group, value uint32 }

// New begins. Secret is the key of the orders by which groups and values are chosen. Rows take about most bytes, and no more.
func New(spec *Spec, secret []byte, most int) *Fold {
	f := &Fold{spec: spec, norm: newNorm(&spec.Norm), order: newOrder(secret), most: most}
	f.levels = make([]int64, len(spec.Norm.Limits)+1)
	for i := range spec.Lists {
		f.lists = append(f.lists, newLookup(&spec.Lists[i]))
	}
	f.groups = newGrouping(spec.Keys, f.lists)
	switch {
	case spec.Sums != nil:
		f.adds = newSumming(spec.Sums)
	case spec.Buckets != nil:
		f.buckets = newBuckets(spec.Buckets)
	default: // half of it is for the values
		f.kinds, f.most = newDifferent(), most/2
	}
	f.begin(spec.ByUnit)
	return f
}

// begin forgets the rows that came, and prepares for others.
func (f *Fold) begin(byUnit bool) {
	f.Drop()
	f.byUnit, f.full, f.lastUnit = byUnit, false, nil
	f.units, f.values = newTable(manyParts), newTable(manyParts)
	if byUnit { // values are those of one unit
		f.units, f.values = nil, newTable(1)
	}
	if f.adds != nil {
		f.adds.begin(byUnit, f.most)
	}
}

// Take takes a row, whose bytes may change afterwards. Its error has the same text for all rows. Of a row that does not count nothing is
// kept, nor of its unit.
func (f *Fold) Take(values [][]byte) (err error) {
	defer guard(&err)
	if f.full {
		return nil
	}
	if f.adds != nil && f.spec.Sums.Summed != nil {
		return f.addUnit(values)
	}
	if len(values) == 0 {
		return errRow
	}
	rest, counts, err := f.group(values[1:])
	if err != nil || !counts {
		return err
	}
	if f.adds != nil {
		again, err := f.unit(values[0])
		if err != nil {
			return err
		}
		return f.addRow(rest, again)
	}
	if len(rest) != 1 || rest[0] == nil {
		return errRow
	}
	return f.takeValue(values[0], rest[0])
}

// takeValue takes the value of a row of the last group.
func (f *Fold) takeValue(unit, value []byte) error {
	if f.buckets == nil {
		if _, err := f.unit(unit); err != nil {
			return err
		}
		number, err := f.different(value)
		if err == nil {
			f.keep(number)
		}
		return err
	}
	number, counts, err := f.bucket(value)
	if err != nil || !counts {
		return err
	}
	if _, err = f.unit(unit); err == nil {
		f.keep(number)
	}
	return err
}

// unit goes on to that of a row; again says that it is that of the row before.
func (f *Fold) unit(value []byte) (again bool, err error) {
	if f.identity, err = f.spec.Unit.AppendIdentity(f.identity[:0], value); err != nil {
		return false, err
	}
	if again = f.lastUnit != nil && bytes.Equal(f.identity, f.lastUnit); !again {
		f.nextUnit(f.identity)
	}
	return again, nil
}

// nextUnit goes on to the unit of a row.
func (f *Fold) nextUnit(unit []byte) {
	switch {
	case f.adds != nil:
		if f.byUnit && f.lastUnit != nil {
			f.finishLast()
		}
	case f.byUnit:
		f.finishOwn()
		f.values.empty()
	default:
		f.unitNumber = f.units.number(unit)
	}
	f.lastUnit = append(f.lastUnit[:0], unit...)
}

// group finds that of a row, and returns the columns behind its keys. A row does not count where a key is in no list.
func (f *Fold) group(values [][]byte) (rest [][]byte, counts bool, err error) {
	if len(f.spec.Keys) == 0 {
		return values, true, nil
	}
	if f.groupNumber, counts, f.scratch, err = f.groups.number(values, f.scratch); err != nil || !counts {
		return nil, false, err
	}
	return values[len(f.groups.columns):], true, nil
}

// bucket numbers that of a value. It does not count where it is in no list.
func (f *Fold) bucket(value []byte) (number uint32, counts bool, err error) {
	of := f.spec.Buckets
	if of.Number.Kind != Position {
		x, err := of.Number.steps(value)
		return uint32(of.Grid.number(x)), true, err
	}
	l := f.lists[len(f.lists)-1]
	if f.identity, err = l.of.AppendIdentity(f.identity[:0], value); err != nil {
		return 0, false, err
	}
	position, counts := l.find(f.identity)
	return uint32(of.Grid.number(int64(position) - 1)), counts, nil
}

// different numbers a value among different ones.
func (f *Fold) different(value []byte) (uint32, error) {
	identity, err := f.spec.Value.AppendIdentity(f.identity[:0], value)
	f.identity = identity
	if err != nil {
		return 0, err
	}
	return f.values.number(identity), nil
}

// rowBytes are those that a row takes when it comes, and when the rows of each unit are brought together.
const rowBytes = 12 + 16

// weighedEvery is after how many rows a Fold looks how much memory they take: texts are of 16 kB at most.
const weighedEvery = 1 << 6

// keep keeps the row of the last unit and group. Where rows do not come unit by unit they are all kept, or none.
func (f *Fold) keep(value uint32) {
	if f.byUnit {
		f.own = append(f.own, entryOf(f.groupNumber, value))
		if len(f.own) >= 2*f.merged+mergeFrom {
			f.merge()
		}
		return
	}
	f.rows.add(row{f.unitNumber, f.groupNumber, value})
	if f.rows.size%weighedEvery == 0 && rowBytes*f.rows.size+f.units.bytes()+f.values.bytes() > f.most {
		f.full = true
		f.Drop()
	}
}

// Finish is to be called behind the last row. Where again is true the rows of another reading are to follow, in the order of units: then
// it is to be called once more. Else it gives all sums, and the numbers of units of each level. It ends early with ctx.
func (f *Fold) Finish(ctx context.Context, sum func(Sum) error, units func(level int, n int64) error) (again bool, err error) {
	defer guard(&err)
	defer f.Drop()
	if again, err = f.ended(ctx, f.finishOwn, f.finishAll); again || err != nil {
		return again, err
	}
	if f.kinds != nil && f.kinds.tally() {
		f.begin(true)
		return true, nil
	}
	for level, n := range f.levels {
		if n > 0 {
			if err := units(level, n); err != nil {
				return false, err
			}
		}
	}
	return false, f.sums(sum)
}

// ended finishes the units that are left, the last one or all, or prepares for rows that are to come once more.
func (f *Fold) ended(ctx context.Context, last func(), all func(context.Context) error) (again bool, err error) {
	switch {
	case f.full:
		f.begin(true)
		return true, nil
	case f.byUnit:
		last()
		return false, nil
	}
	return false, all(ctx)
}

// sums gives all of them.
func (f *Fold) sums(yield func(Sum) error) error {
	keys := f.remembered()
	give := func(group uint32, s Sum) (err error) {
		if s.Keys, err = keys(group); err != nil {
			return err
		}
		return yield(s)
	}
	if f.buckets != nil {
		return f.buckets.sums(give)
	}
	return f.kinds.sums(give)
}

// remembered returns keysOf, which writes the keys of each group once.
func (f *Fold) remembered() func(group uint32) ([][]byte, error) {
	keys := map[uint32][][]byte{}
	return func(group uint32) (of [][]byte, err error) {
		of, known := keys[group]
		if !known {
			of, err = f.keysOf(group)
			keys[group] = of
		}
		return of, err
	}
}

// keysOf returns the keys of a group as they are shown.
func (f *Fold) keysOf(group uint32) (keys [][]byte, err error) {
	if len(f.spec.Keys) == 0 {
		return nil, nil
	}
	columns := f.groups.identities(group)
	for i, k := range f.spec.Keys {
		at := f.groups.first[i]
		if k.Shown == Behind {
			at++
		}
		text, err := k.text(columns[at])
		if err != nil {
			return nil, err
		}
		keys = append(keys, text)
	}
	return keys, nil
}

// Drop forgets all rows, and leaves nothing of them in memory but the keys of groups. A Fold that is given up has to be told so.
func (f *Fold) Drop() {
	f.rows.drop()
	for _, t := range []*table{f.units, f.values} {
		if t != nil {
			t.drop()
		}
	}
	for _, l := range f.lists {
		l.drop()
	}
	if f.kinds != nil {
		f.kinds.drop()
	}
	if f.adds != nil {
		f.adds.drop()
	}
	f.order.drop()
	clear(f.own[:cap(f.own)])
	f.own, f.merged = nil, 0
	for _, b := range [][]byte{f.lastUnit, f.scratch, f.identity, f.message} {
		clear(b[:cap(b)])
	}
}
