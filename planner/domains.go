package planner

import (
	"encoding/json"
	"slices"

	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// domains are the public values of the keys of a block, for known constants. Grouping sets with the same keys share them.
type domains struct {
	arguments
	b       *block
	folds   int // how many constants come before the lists of keys
	factors map[*factor][][]*string
	byKeys  map[string]*list // a nil list for private keys
}

// lists returns the public values of the keys in the set; ok is false if some key is private. Then all keys are treated as private: the
// combinations that occur are protected as soon as one key is, and partition selection decides which are shown.
func (d *domains) lists(set []int) (lists []*list, ok bool, err error) {
	b := d.b
	for _, f := range b.factors {
		keys := slices.DeleteFunc(slices.Clone(f.keys), func(k int) bool { return !slices.Contains(set, k) })
		if len(keys) == 0 {
			continue
		}
		l, err := d.shared(keys, func() ([][]*string, bool, error) {
			rows, err := d.rowsOf(f, keys)
			return rows, true, err
		})
		if err != nil {
			return nil, false, err
		}
		lists = append(lists, l)
	}
	for _, keys := range b.together(set) {
		l, err := d.shared(keys, func() ([][]*string, bool, error) { return d.listed(keys) })
		if l == nil || err != nil {
			return nil, false, err
		}
		lists = append(lists, l)
	}
	return lists, true, nil
}

// shared returns the list of the keys, which it makes when it is first asked for; nil if they are private.
func (d *domains) shared(keys []int, rows func() (rows [][]*string, public bool, err error)) (*list, error) {
	id := ordinals(keys)
	l, have := d.byKeys[id]
	if have {
		return l, nil
	}
	values, public, err := rows()
	if err != nil {
		return nil, err
	}
	if public {
		l = newList(keys, values)
	}
	d.byKeys[id] = l
	return l, nil
}

// rowsOf returns the rows of a factor, restricted to some of its keys. Restricted rows can repeat; newList removes duplicates.
func (d *domains) rowsOf(f *factor, keys []int) ([][]*string, error) {
	rows, err := d.factorRows(f)
	if err != nil || len(keys) == len(f.keys) {
		return rows, err
	}
	restricted := make([][]*string, len(rows))
	for n, row := range rows {
		for i, k := range f.keys {
			if slices.Contains(keys, k) {
				restricted[n] = append(restricted[n], row[i])
			}
		}
	}
	return restricted, nil
}

// factorRows returns all rows of a factor, which is read once for all grouping sets.
func (d *domains) factorRows(f *factor) ([][]*string, error) {
	if f.fold < 0 {
		return f.rows, nil
	}
	if rows, have := d.factors[f]; have {
		return rows, nil
	}
	rows, err := d.enumerated(f)
	d.factors[f] = rows
	return rows, err
}

// enumerated reads the values of a factor that the mirror enumerated.
func (d *domains) enumerated(f *factor) ([][]*string, error) {
	text := d.env.Values[f.fold].Bytes
	if text == nil {
		return nil, nil
	}
	at := d.b.keys[f.keys[0]].at
	if len(text) == 0 {
		return nil, tooLongKeys(at)
	}
	rows, err := d.read(text, at)
	if err != nil {
		return nil, err
	}
	var types []pgtype.Type
	for _, k := range f.keys {
		types = append(types, d.b.keys[k].typ)
	}
	rows, _, err = d.spelled(rows, types, at)
	return rows, err
}

// read reads rows of texts.
func (*domains) read(text []byte, at int) (rows [][]*string, err error) {
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, unreadable(at)
	}
	return rows, nil
}

func unreadable(at int) error {
	return pgerr.New(pgerr.Internal, "the values of a grouping key cannot be read").At(at)
}

// spelled converts the texts of values that the mirror enumerated to texts that every session reads alike.
func (*domains) spelled(rows [][]*string, types []pgtype.Type, at int) ([][]*string, bool, error) {
	if len(rows) > maxGroups {
		return nil, false, tooManyGroups(at)
	}
	for _, row := range rows {
		if len(row) != len(types) {
			return nil, false, unreadable(at)
		}
		for i, cell := range row {
			if cell == nil {
				continue
			}
			text, ok := scalar.EnumeratedText(types[i], *cell)
			if !ok {
				return nil, false, unreadable(at)
			}
			row[i] = &text
		}
	}
	return rows, true, nil
}

func tooManyGroups(at int) error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "the statement has more than %d groups", maxGroups).At(at).
		WithHint("Group by fewer columns, or restrict them in WHERE.")
}

// checkLists refuses a plan whose lists, over all reads, are too large.
func checkLists(p *Plan) error {
	size := 0
	for _, b := range p.Blocks {
		if b.twin > 0 { // it shares the reads of another block
			continue
		}
		for _, set := range b.Sets {
			for _, r := range set.Reads {
				size += r.listed
			}
		}
		if size > maxListBytes {
			return tooLongKeys(b.block.at)
		}
	}
	return nil
}

func tooLongKeys(at int) error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "the public keys of the statement take more than %d bytes", maxListBytes).At(at).
		WithHint("Group by something shorter, such as a number in place of its label, by fewer columns, or by fewer values " +
			"(WHERE x IN (...)). Each grouping set, percentile and COUNT(DISTINCT) has all keys once more.")
}

// finite lists the values that a key can have within its bounds, NULL last.
func (d *domains) finite(k *key) ([][]*string, bool) {
	texts, null, ok := d.env.Enumerate(k.expr, d.b.source.AllConjuncts(), maxFinite)
	if !ok {
		return nil, false
	}
	var rows [][]*string
	for i := range texts {
		rows = append(rows, []*string{&texts[i]})
	}
	if null {
		rows = append(rows, []*string{nil})
	}
	return rows, true
}

// maxFinite bounds the number of values that bounds may imply for a key. Partition selection is better at finding the groups among more
// values.
const maxFinite = 2000
