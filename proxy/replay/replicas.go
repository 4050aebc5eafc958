package replay

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"

	"dpproxy/contribution"
	"dpproxy/planner"
)

// version is a part of each seed. It changes with the way in which replicas are drawn.
const version = "1"

// Replicas draws replicas of the relations that were released for a plan.
type Replicas struct {
	plan     *planner.Plan
	released [][]*planner.Released
	noises   [][]noise // of each block and set
}

// A noise draws one number for each integer of a row. Each integer has a source of its own.
type noise struct {
	set     *planner.GroupingSet
	of      []contribution.Noise // Of is nil if it is not drawn
	seeds   [][sha256.Size]byte
	sources []*rand.ChaCha8
	seen    *spread
}

// NewReplicas returns the replicas of the relations that were released for the blocks of a plan; those of a block that reads nothing are
// nil.
func NewReplicas(plan *planner.Plan, released [][]*planner.Released) *Replicas {
	r := &Replicas{plan: plan, noises: make([][]noise, len(plan.Blocks))}
	for i, b := range plan.Blocks {
		var of []*planner.Released
		if released != nil {
			of = b.Judged(released[i])
		}
		r.released = append(r.released, of)
		r.noises[i] = make([]noise, len(b.Sets))
		for j, set := range b.Sets {
			if of := r.of(i, j); of != nil {
				r.noises[i][j] = noiseOf(b, j, set, of)
			}
		}
	}
	return r
}

// of returns the released relation of a set, nil if there is none.
func (r *Replicas) of(block, set int) *planner.Released {
	if r.released[block] == nil {
		return nil
	}
	return r.released[block][set]
}

func noiseOf(b *planner.BlockPlan, at int, set *planner.GroupingSet, of *planner.Released) (n noise) {
	integers := set.Integers()
	n.set, n.seen = set, new(spread)
	n.of, n.seeds = make([]contribution.Noise, integers), make([][sha256.Size]byte, integers)
	for i := range integers {
		if of.Margins == nil {
			n.of[i] = set.Noise(i, of.Clips)
		}
	}
	i := 0
	for _, p := range planner.PartsOf(b) {
		for k := range p.Integers() {
			n.seeds[i] = seedFor(append(p.Question(), p.Law(), number(k)), of, i)
			i++
		}
	}
	for ; i < integers; i++ {
		n.seeds[i] = seedFor(append(b.Question(), number(at), number(i)), of, i)
	}
	for _, seed := range n.seeds {
		n.sources = append(n.sources, rand.NewChaCha8(seed))
	}
	return n
}

func number(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// seedFor returns the seed of an integer, which follows from its question and its released values.
func seedFor(question [][]byte, of *planner.Released, integer int) [sha256.Size]byte {
	h := sha256.New()
	add := func(text []byte) {
		h.Write(number(len(text)))
		h.Write(text)
	}
	add([]byte(version))
	for _, text := range question {
		add(text)
	}
	for _, row := range of.Rows {
		if row[integer] != nil {
			add(row[integer].Append(nil, 10))
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Next returns the columns of each block for the next replica, as [planner.BlockPlan.Columns] does.
func (r *Replicas) Next() [][]string {
	return r.columns(func(i, j int, of *planner.Released) *planner.Released { return r.noises[i][j].added(of) })
}

// Released returns the columns as they were released.
func (r *Replicas) Released() [][]string {
	return r.columns(func(_, _ int, of *planner.Released) *planner.Released { return of })
}

func (r *Replicas) columns(replica func(i, j int, of *planner.Released) *planner.Released) (all [][]string) {
	for i, b := range r.plan.Blocks {
		sets := make([]*planner.Released, len(b.Sets))
		for j := range sets {
			if of := r.of(i, j); of != nil {
				sets[j] = replica(i, j, of)
			}
		}
		all = append(all, b.Columns(sets))
	}
	return all
}

// added returns the released relation with fresh noise.
func (n noise) added(of *planner.Released) *planner.Released {
	var rows [][]*big.Int
	for row, integers := range of.Rows {
		drawn := make([]*big.Int, len(integers))
		for i, x := range integers {
			drawn[i] = x
			switch {
			case x == nil || n.of[i].Of == nil && of.Margins == nil || n.together(i):
			case of.Margins != nil:
				drawn[i] = about(x, of.Margins[row][i].Sigma, n.sources[i])
			default:
				drawn[i] = n.drawn(i, x)
			}
		}
		rows = append(rows, drawn)
	}
	for i := range n.of {
		if s, ok := planner.SequencesOf(n.set, i); ok {
			addTogether(s, i, rows, n.sources[i])
		}
	}
	n.seen.add(of.Rows, rows)
	return of.Replica(rows)
}

// addTogether adds the noise of values that were measured together.
func addTogether(s planner.Sequenced, i int, to [][]*big.Int, src *rand.ChaCha8) {
	normal := rand.New(src)
	for _, rows := range s.Rows {
		drawn := make([]float64, len(rows))
		for n := range drawn {
			drawn[n] = normal.NormFloat64()
		}
		for n, noise := range s.Replica(drawn) {
			x := to[rows[n]][i]
			to[rows[n]][i] = new(big.Int).Add(x, big.NewInt(noise))
		}
	}
}

// together reports whether an integer was measured together with that of other rows.
func (n noise) together(i int) bool {
	_, ok := planner.SequencesOf(n.set, i)
	return ok
}

// drawn adds the noise of the mechanism.
func (n noise) drawn(i int, x *big.Int) *big.Int {
	of := n.of[i]
	noise := of.Of.Sample(new(big.Int), n.sources[i])
	return of.Shown(noise.Add(noise, new(big.Int).Lsh(x, of.Bits)))
}

// about adds normal noise, which stands for the one of several measurements together.
func about(x *big.Int, sigma float64, src *rand.ChaCha8) *big.Int {
	z := math.RoundToEven(sigma * rand.New(src).NormFloat64())
	noise, _ := big.NewFloat(z).Int(nil)
	return noise.Add(noise, x)
}

// cells is the number of integers that one replica draws.
func (r *Replicas) cells() (n int) {
	for i, b := range r.plan.Blocks {
		for j, set := range b.Sets {
			if of := r.of(i, j); of != nil {
				n += len(of.Rows) * set.Integers()
			}
		}
	}
	return n
}
