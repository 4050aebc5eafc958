package replay

import (
	"math"
	"math/big"
	"math/rand/v2"

	"dpproxy/estimate"
	"dpproxy/planner"
)

// Guesses are replicas without noise, of values that may be the true ones: gathered as noise may have spread them ([estimate.Gathered]),
// and as far up or down in all as their mean may be off; and, of the nearest together, each time some by themselves as far as noise may
// have moved each. Some are as many as there are times, so that their sum moves as far as that of all.

// fewGuesses are those of values that are nearest together alone.
const fewGuesses = 3

// A guessing has the guesses of each integer of the relations that were released for a plan.
type guessing struct {
	*Replicas
	columns map[column]guesses
	levels  int // the most that any integer has
	parts   int // into which the rows of the longest relation fall
	z       float64
}

// A column is that of an integer in the rows of a grouping set of a block.
type column struct{ block, set, integer int }

// guesses are how far values are from the released ones, of one integer in all rows.
type guesses struct {
	gathered [][]float64 // the first are the released ones
	sigmas   []float64   // of each row
	common   float64     // of the mean of all rows
	part     []int       // of each row, when it is moved by itself
}

// newGuessing returns the guesses about relations of which replicas were drawn, that show how large the noise is.
func newGuessing(r *Replicas, alpha float64) *guessing {
	g := &guessing{Replicas: r, columns: map[column]guesses{}, z: estimate.NormalQuantile(alpha)}
	for i, b := range r.plan.Blocks {
		for j, set := range b.Sets {
			of := r.of(i, j)
			if of == nil {
				continue
			}
			for k := range set.Integers() {
				c := guessesOf(of, k, r.noises[i][j], alpha)
				if g.columns[column{i, j, k}] = c; c.common > 0 {
					g.levels, g.parts = max(g.levels, len(c.gathered)), max(g.parts, partsOf(len(of.Rows)))
				}
			}
		}
	}
	return g
}

func partsOf(rows int) int { return int(math.Ceil(math.Sqrt(float64(rows)))) }

// guessesOf are those of an integer. The noise of values that were measured together follows another law, by which these would be too far
// from each other: they stay as they are.
func guessesOf(of *planner.Released, integer int, n noise, alpha float64) (c guesses) {
	released := make([]float64, len(of.Rows))
	for row, integers := range of.Rows {
		if integers[integer] != nil {
			released[row], _ = new(big.Float).SetInt(integers[integer]).Float64()
		}
	}
	c.sigmas = make([]float64, len(of.Rows))
	if !n.together(integer) {
		c.sigmas, c.common = n.seen.deviations(integer)
	}
	for _, at := range append([][]float64{released}, estimate.Gathered(released, c.sigmas, alpha)...) {
		off := make([]float64, len(at))
		for row := range at {
			off[row] = at[row] - released[row]
		}
		c.gathered = append(c.gathered, off)
	}
	c.part = make([]int, len(of.Rows))
	for i, row := range rand.New(rand.NewPCG(uint64(len(of.Rows)), 0)).Perm(len(of.Rows)) {
		c.part[row] = i % partsOf(len(of.Rows))
	}
	return c
}

// A guess is how far an integer in a row is from the released one.
type guess func(c guesses, row int) float64

// all are the guesses, if there is room for so many; of the nearest together alone if there is little, and none by themselves. There are
// none where nothing has noise that is drawn by itself.
func (g *guessing) all(room int) (all []guess) {
	first, sides := 0, []float64{-g.z, 0, g.z}
	if room < len(sides)*g.levels {
		first = g.levels - 1
	}
	for level := first; level < g.levels; level++ {
		for _, side := range sides {
			all = append(all, func(c guesses, row int) float64 {
				if c.sigmas[row] == 0 {
					return 0
				}
				return c.at(level)[row] + side*c.common
			})
		}
	}
	if g.parts < 2 || room < len(all)+2*g.parts {
		return all
	}
	for part := range g.parts {
		for _, side := range []float64{-g.z, g.z} {
			all = append(all, func(c guesses, row int) float64 {
				if c.part[row] == part {
					return side * c.sigmas[row]
				}
				return c.at(g.levels - 1)[row]
			})
		}
	}
	return all
}

// at is how far values are from the released ones at a level, or at the last.
func (c guesses) at(level int) []float64 { return c.gathered[min(level, len(c.gathered)-1)] }

// replica returns the columns of each block.
func (g *guessing) replica(of guess) [][]string {
	return g.Replicas.columns(func(i, j int, released *planner.Released) *planner.Released {
		var rows [][]*big.Int
		for row, integers := range released.Rows {
			guessed := make([]*big.Int, len(integers))
			for k, x := range integers {
				guessed[k] = x
				if by := math.RoundToEven(of(g.columns[column{i, j, k}], row)); x != nil && by != 0 {
					move, _ := big.NewFloat(by).Int(nil)
					guessed[k] = move.Add(move, x)
				}
			}
			rows = append(rows, guessed)
		}
		return released.Replica(rows)
	})
}
