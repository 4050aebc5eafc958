package fold

import (
	"bytes"
	"context"
)

// A Sum is the sum over all units of one level in one group: in one node of the tree of buckets, or of different values.
type Sum struct {
	// Keys are the keys of the group; a nil key is NULL.
	Keys  [][]byte
	Level int
	// Node numbers the nodes of all levels of the tree, beginning with the coarsest level.
	Node int
	Rows int64
	// Directions is the sum of 2^Fraction times the rows, each divided by the norm of its unit.
	Directions int64
}

// A Fold adds up the rows of one statement.
type Fold struct {
	spec   *Spec
	norm   norm
	secret []byte
	most   int // bytes
	width  int // columns of a row

	// byUnit says that the rows come unit by unit. A unit is then finished when the next unit comes.
	byUnit bool
	// full says that the rows or the groups exceed memory.
	full bool
	// within has the groups that this reading counts. If it does not have all groups, ofUnit numbers the groups of the current unit, and
	// groups numbers only the groups that are counted.
	within hashRange
	ofUnit *grouping

	lists             []*lookup
	units, values     *table
	groups            *grouping
	rows              pieces[row]
	lastUnit          []byte // the identity of the unit of the last row
	unitNumber        uint32
	groupNumber       uint32   // of the last row
	keys              [][]byte // of the last row, while it is taken
	scratch, identity []byte

	adds *summing
	// finishers has one finisher, or two after they have finished all units together.
	finishers []*finisher
}

// A row has the numbers of its unit, its group and its value.
type row struct{ unit, group, value uint32 }

// New returns a Fold. Secret is the key of the orders by which groups and values are chosen. The rows take at most about most bytes.
func New(spec *Spec, secret []byte, most int) *Fold {
	f := &Fold{spec: spec, norm: newNorm(&spec.Norm), secret: secret, most: most, within: allHashes()}
	for i := range spec.Lists {
		f.lists = append(f.lists, newLookup(&spec.Lists[i]))
	}
	if spec.Sums == nil && spec.Buckets == nil { // the other half is for the table of different values
		f.most /= 2
	}
	f.begin(spec.ByUnit)
	f.width = 1 + len(f.groups.columns) + 1
	if spec.Sums != nil {
		f.width += len(spec.Sums.Columns) - 1
	}
	return f
}

// begin forgets rows and results, and prepares for rows.
func (f *Fold) begin(byUnit bool) {
	f.Drop()
	f.groups = newGrouping(f.spec.Keys, f.lists, manyParts)
	if f.spec.Sums != nil {
		f.adds = newSumming(f.spec.Sums)
	}
	f.finishers = []*finisher{newFinisher(f)}
	f.beginRows(byUnit)
}

// beginRows forgets the rows that have come, and prepares for other rows.
func (f *Fold) beginRows(byUnit bool) {
	f.Drop()
	f.byUnit, f.full, f.lastUnit = byUnit, false, nil
	f.units, f.values = newTable(manyParts), newTable(manyParts)
	if byUnit { // values has the values of one unit
		f.units, f.values = nil, newTable(1)
	}
	if f.ofUnit = nil; !f.within.all() {
		f.ofUnit = newGrouping(f.spec.Keys, f.lists, 1)
	}
	if f.adds != nil {
		f.adds.begin(byUnit, f.most)
	}
}

// Take takes a row, whose bytes may change afterwards. Its error has the same text for all rows. If a row does not count, nothing of the
// row or of its unit is kept.
func (f *Fold) Take(values [][]byte) (err error) {
	defer guard(&err)
	if f.full {
		return nil
	}
	if f.adds != nil && f.spec.Sums.Summed != nil {
		return f.addUnit(values)
	}
	if len(values) != f.width {
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
	if rest[0] == nil {
		return errRow
	}
	return f.takeValue(values[0], rest[0])
}

// takeValue takes the value of a row of the last group.
func (f *Fold) takeValue(unit, value []byte) error {
	if f.spec.Buckets == nil {
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

// unit switches to the unit of a row; again reports whether the row before had the same unit.
func (f *Fold) unit(value []byte) (again bool, err error) {
	if f.identity, err = f.spec.Unit.AppendIdentity(f.identity[:0], value); err != nil {
		return false, err
	}
	if again = f.lastUnit != nil && bytes.Equal(f.identity, f.lastUnit); !again {
		f.nextUnit(f.identity)
	}
	if len(f.spec.Keys) > 0 {
		f.groupNumber, f.scratch, err = f.grouped().number(f.keys, f.scratch)
	}
	return again, err
}

// grouped returns the grouping that numbers the groups of rows.
func (f *Fold) grouped() *grouping {
	if f.ofUnit != nil {
		return f.ofUnit
	}
	return f.groups
}

// nextUnit switches to the unit of a row.
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
	if f.ofUnit != nil {
		f.ofUnit.empty()
	}
}

// group reads the keys of a row, and returns the columns after the keys. A row does not count if a key is not in its list.
func (f *Fold) group(values [][]byte) (rest [][]byte, counts bool, err error) {
	if len(f.spec.Keys) == 0 {
		return values, true, nil
	}
	if counts, f.scratch, err = f.grouped().find(values, f.scratch); err != nil || !counts {
		return nil, false, err
	}
	f.keys = values[:len(f.groups.columns)]
	return values[len(f.groups.columns):], true, nil
}

// bucket returns the number of a value's bucket. The value does not count if it is not in the list.
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

// different returns the number of a value among the different values.
func (f *Fold) different(value []byte) (uint32, error) {
	identity, err := f.spec.Value.AppendIdentity(f.identity[:0], value)
	f.identity = identity
	if err != nil {
		return 0, err
	}
	return f.values.number(identity), nil
}

// rowBytes is how many bytes a row takes when it comes, and when the rows of each unit are brought together.
const rowBytes = 12 + 16

// weighedEvery is the number of rows after which a Fold measures their memory: a text has at most 16 kB.
const weighedEvery = 1 << 6

// keep keeps the row of the last unit and group. If rows do not come unit by unit, all rows are kept or none.
func (f *Fold) keep(value uint32) {
	if f.byUnit {
		f.finishers[0].add(entryOf(f.groupNumber, value))
		return
	}
	f.rows.add(row{f.unitNumber, f.groupNumber, value})
	if f.rows.size%weighedEvery == 0 && f.rowsBytes()+f.groups.bytes() > f.most {
		f.overflow()
	}
}

// rowsBytes is about how much memory the rows take if all are kept.
func (f *Fold) rowsBytes() int { return rowBytes*f.rows.size + f.units.bytes() + f.values.bytes() }

// leastGroups is how many groups a reading counts whatever memory they take.
const leastGroups = 1 << 8

// weighResults checks whether the groups and their results exceed memory, if rows come unit by unit.
func (f *Fold) weighResults() {
	n := f.finishers[0].bytes() + f.groups.bytes()
	if n > f.most && f.groups.size() > leastGroups {
		f.overflow()
	}
}

// overflow drops all rows and results. The rows must be read again.
func (f *Fold) overflow() {
	f.full = true
	f.Drop()
}

// Finish must be called after the last row. It gives each sum once, and the number of units of each level. If again is true, the rows of
// another reading must follow, in the order of units, and Finish must be called once more for the rest. It ends early with ctx.
func (f *Fold) Finish(ctx context.Context, sum func(Sum) error, units func(level int, n int64) error) (again bool, err error) {
	defer guard(&err)
	defer f.Drop()
	if again, err = f.ended(ctx, f.finishOwn, f.finishAll); again || err != nil {
		return again, err
	}
	if f.tally() {
		f.beginRows(true)
		return true, nil
	}
	for level, n := range f.finishers[0].levels {
		if n > 0 {
			if err := units(level, n); err != nil {
				return false, err
			}
		}
	}
	if err := f.sums(sum); err != nil {
		return false, err
	}
	return f.otherGroups(), nil
}

// ended finishes the remaining units, the last one or all, or prepares for another reading of the rows.
func (f *Fold) ended(ctx context.Context, last func(), all func(context.Context) error) (again bool, err error) {
	switch {
	case f.full:
	case f.byUnit:
		last()
	default:
		err = all(ctx)
	}
	if err != nil || !f.full {
		return false, err
	}
	if f.byUnit { // there are too many groups
		f.within.narrow(fewerGroups)
	}
	f.begin(true)
	return true, nil
}

// fewerGroups is the factor by which the range of groups shrinks if a reading has too many groups.
const fewerGroups = 2

// tally counts the different values of this reading, and reports whether other values are left.
func (f *Fold) tally() (again bool) {
	kinds := f.finishers[0].kinds
	if kinds == nil {
		return false
	}
	other := &different{hashRange: kinds.hashRange, places: newTable(1)}
	if len(f.finishers) > 1 {
		other = f.finishers[1].kinds
	}
	f.finishers = f.finishers[:1]
	return kinds.tally(other)
}

// otherGroups prepares for another reading, if groups are left that no reading has counted.
func (f *Fold) otherGroups() (again bool) {
	if again = f.within.next(f.within.to - f.within.from); again {
		f.begin(true)
	}
	return again
}

// sums gives all sums.
func (f *Fold) sums(yield func(Sum) error) error {
	keys := f.remembered()
	give := func(group uint32, s Sum) (err error) {
		if s.Keys, err = keys(group); err != nil {
			return err
		}
		return yield(s)
	}
	if f.spec.Buckets != nil {
		return f.spec.Buckets.give(f.finishers[0].buckets, give)
	}
	return f.finishers[0].kinds.sums(give)
}

// rememberedGroups is the largest number of groups whose keys are kept in written form. The keys of more groups can exceed memory.
const rememberedGroups = 1 << 14

// A groupKeys is [Fold.keysOf].
type groupKeys func(group uint32) ([][]byte, error)

// remembered returns keysOf; if there are few groups, it writes the keys of each group once.
func (f *Fold) remembered() groupKeys {
	if f.groups.size() > rememberedGroups {
		return f.keysOf
	}
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

// Drop forgets all rows, and leaves nothing of them in memory but the keys of groups. Call it on a Fold that is abandoned.
func (f *Fold) Drop() {
	f.rows.drop()
	for _, t := range []*table{f.units, f.values} {
		if t != nil {
			t.drop()
		}
	}
	if f.ofUnit != nil {
		f.ofUnit.empty()
	}
	for _, l := range f.lists {
		l.drop()
	}
	if f.adds != nil {
		f.adds.drop()
	}
	for _, w := range f.finishers {
		w.drop()
	}
	for _, b := range [][]byte{f.lastUnit, f.scratch, f.identity} {
		clear(b[:cap(b)])
	}
}
