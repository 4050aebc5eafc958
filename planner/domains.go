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
		l, err := d.shared(keys, func() ([][]*string, bool, error) { return d.rowsOf(f, keys) })
		if l == nil || err != nil {
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

// rowsOf returns the rows of a factor, restricted to some of its keys; public is false if there are too many. Restricted rows can repeat;
// newList removes duplicates.
func (d *domains) rowsOf(f *factor, keys []int) (rows [][]*string, public bool, err error) {
	rows, public, err = d.factorRows(f)
	if !public || err != nil || len(keys) == len(f.keys) {
		return rows, public, err
	}
	restricted := make([][]*string, len(rows))
	for n, row := range rows {
		for i, k := range f.keys {
			if slices.Contains(keys, k) {
				restricted[n] = append(restricted[n], row[i])
			}
		}
	}
	return restricted, true, nil
}

// factorRows returns all rows of a factor, which is read once for all grouping sets.
func (d *domains) factorRows(f *factor) (rows [][]*string, public bool, err error) {
	if f.fold < 0 && !f.later {
		return f.rows, true, nil
	}
	rows, have := d.factors[f]
	if !have {
		if rows, err = d.enumerated(f); err != nil {
			return nil, false, err
		}
		d.factors[f] = rows
	}
	return rows, rows != nil, nil
}

// enumerated reads the values of a factor that the mirror enumerated; nil if there are too many for public groups.
func (d *domains) enumerated(f *factor) ([][]*string, error) {
	i, at := f.fold, d.b.keys[f.keys[0]].at
	if f.later {
		if i = d.folds + f.at; i >= len(d.env.Values) || d.env.Values[i].Bytes == nil { // no mirror was asked
			return nil, nil
		}
		types, err := d.types(f.keys)
		if err != nil {
			return nil, err
		}
		for n, t := range f.types {
			if t.OID != 0 {
				types[n] = t
			}
		}
		text := d.env.Values[i].Bytes
		return d.rows(text[min(1, len(text)):], types, at)
	}
	if d.env.Values[i].Bytes == nil {
		return [][]*string{}, nil
	}
	return d.rows(d.env.Values[i].Bytes, f.types, at)
}

// rows reads rows of texts, in spellings that every session reads alike; nil if they are too many for public groups.
func (d *domains) rows(text []byte, types []pgtype.Type, at int) ([][]*string, error) {
	if len(text) == 0 {
		return nil, d.unlessPrivate(tooLongKeys(at))
	}
	rows := [][]*string{}
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, unreadable(at)
	}
	if len(rows) > maxGroups {
		return nil, d.unlessPrivate(tooManyGroups(at))
	}
	return rows, spelled(rows, types, at)
}

// unlessPrivate returns a refusal of public groups unless they can be private instead: if public rows declare them, or no protected row is
// read, they cannot.
func (d *domains) unlessPrivate(refusal error) error {
	if d.b.source.DeclaresKeys() || !d.b.reads() {
		return refusal
	}
	return nil
}

func unreadable(at int) error {
	return pgerr.New(pgerr.Internal, "the values of a grouping key cannot be read").At(at)
}

// spelled converts the texts of values that the mirror enumerated to texts that every session reads alike.
func spelled(rows [][]*string, types []pgtype.Type, at int) error {
	for _, row := range rows {
		if len(row) != len(types) {
			return unreadable(at)
		}
		for i, cell := range row {
			if cell == nil {
				continue
			}
			text, ok := scalar.EnumeratedText(types[i], *cell)
			if !ok {
				return unreadable(at)
			}
			row[i] = &text
		}
	}
	return nil
}

// partitionsOf returns the groups of a grouping set: public ones, unless some key is private or they are too many. lists are the public
// values of the keys, nil if some key is private.
func (d *domains) partitionsOf(keys []int, lists []*list, public bool) (partitions, error) {
	if public {
		p, ok := newPartitions(keys, lists)
		if ok {
			return p, nil
		}
		if err := d.unlessPrivate(tooManyGroups(d.b.keys[keys[0]].at)); err != nil {
			return p, err
		}
	}
	return partitions{keys: keys}, nil
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
