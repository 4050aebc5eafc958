package mechanisms

import "math/big"

// Stay returns the coin that keeps the noise of the finer of two levels.
func Stay(low, high *big.Rat) func(Source) bool { return newStay(low, high).draw }
