package planner

// Names of the mechanisms in settings and plans. Laplace and Gaussian noise have one round and a known error. Noise reduction has rounds
// until an error is reached. Recycling redraws noise that is out of bounds, which makes a known error cheaper. A staircase has its steps at
// the error.
const (
	auto             = "auto"
	laplace          = "laplace"
	gaussian         = "gaussian" // has no finite ε: not for budgets of pure differential privacy
	brownian         = "brownian" // has no finite ε either
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

// Recycles reports whether a mechanism redraws noise that is out of its bounds.
func Recycles(mechanism string) bool { return mechanism == brdpLaplace || mechanism == brdpGaussian }

// ofOneNumber reports whether the price of a mechanism covers the change of a single number of a vector only. If a unit changes several
// numbers, each by a part of a norm, the losses add up to more than the loss for a number that changes by the whole norm.
func ofOneNumber(mechanism string) bool { return Recycles(mechanism) || mechanism == staircase }

// kernel returns the noise from which a recycling mechanism draws, or "".
func kernel(mechanism string) string {
	return map[string]string{brdpLaplace: laplace, brdpGaussian: gaussian}[mechanism]
}

// isLaplace reports whether noise of a kind is for ℓ₁ norms.
func isLaplace(kind string) bool {
	return kind == laplace || kind == brdpLaplace || kind == laplaceReduction || kind == staircase
}
