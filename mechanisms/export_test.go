package mechanisms

import "math/big"

// Uniform and BernoulliExp let tests see the two coins of every sampler.
var (
	Uniform         = uniform
	UniformBig      = uniformBig
	BernoulliExp    = bernoulliExp
	BernoulliExpBig = bernoulliExpBig
)

// SampleBig is Sample by way of math/big alone, whatever the scale.
func (l Laplace) SampleBig(z *big.Int, src Source) *big.Int {
	return drawLaplaceBig(z, src, l.scale.Num(), l.scale.Denom())
}

// SampleBig is Sample with the acceptance by way of math/big alone.
func (g Gaussian) SampleBig(z *big.Int, src Source) *big.Int {
	for {
		y := drawLaplace(src, g.t, 1)
		if g.acceptBig(src, y) {
			return y.set(z)
		}
	}
}

// Accepts reports whether the narrow path accepts the proposal y.
func (g Gaussian) Accepts(src Source, y uint64) bool { return g.accept(src, wide{lo: y}) }

// Unwiped returns the buffered words that were handed out and not wiped.
func Unwiped(src Source) (words int) {
	for _, idle := range src.(*systemSource).idle {
		t := idle()
		for i := 0; i < len(t.buffer)-t.left; i += 8 {
			if [8]byte(t.buffer[i:]) != [8]byte{} {
				words++
			}
		}
	}
	return words
}
