package planner

// Names of the mechanisms in settings and plans. The first two have one round and a known error;
// noise reduction has rounds until an error is reached; recycling draws noise again that is too
// wide, which makes a known error cheaper, and a staircase has its steps where the error is.
const (
	auto             = "auto"
	laplace          = "laplace"
	gaussian         = "gaussian" // no finite ε: not for budgets of pure differential privacy
	brownian         = "brownian" // likewise
	laplaceReduction = "laplace_reduction"
	brdpLaplace      = "brdp_laplace"
	brdpGaussian     = "brdp_gaussian"
	staircase        = "staircase"
	exponential      = "exponential" // chooses percentiles and modes; other values are as with auto
)

// MechanismNames are the values of the setting dp.mechanism: auto and all mechanisms.
func MechanismNames() []string { return append([]string{auto}, Mechanisms()...) }

// Mechanisms are the names of all mechanisms, as a policy allows them.
func Mechanisms() []string {
	return []string{laplace, gaussian, brownian, laplaceReduction, brdpLaplace, brdpGaussian, staircase, exponential}
}

// Recycles reports whether a mechanism draws noise anew that is out of its bounds.
func Recycles(mechanism string) bool { return mechanism == brdpLaplace || mechanism == brdpGaussian }

// ofOneNumber reports whether the price of a mechanism covers a change of one number of a vector: where a unit
// changes several, each by a part of a norm, the losses add up to more than that of one which has the whole norm.
func ofOneNumber(mechanism string) bool { return Recycles(mechanism) || mechanism == staircase }

// kernel is the noise that a recycling mechanism draws from, "" for another one.
func kernel(mechanism string) string {
	return map[string]string{brdpLaplace: laplace, brdpGaussian: gaussian}[mechanism]
}

// isLaplace reports whether noise of a kind is for ℓ₁ norms.
func isLaplace(kind string) bool {
	return kind == laplace || kind == brdpLaplace || kind == laplaceReduction || kind == staircase
}
