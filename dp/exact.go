package dp

import (
	"fmt"
	"math/big"
	"strings"
)

// Exact writes an event with all its digits: two events are written alike only if
// they are the same. It is for keys, where String is for people. An event without
// its numbers, or of a type that is not of this package, is written as "?".
func Exact(e Event) string {
	switch e := e.(type) {
	case LaplaceEvent:
		return fmt.Sprintf("laplace(%v %s)", e.Sensitivity, digits(e.Scale))
	case GaussianEvent:
		if e.Variance == nil {
			return "?"
		}
		return fmt.Sprintf("gaussian(%v %s)", e.Sensitivity, e.Variance)
	case ImageEvent:
		if e.L2Squared == nil || e.Variance == nil {
			return "?"
		}
		return fmt.Sprintf("image(%d %s %s)", e.Coordinates, e.L2Squared, e.Variance)
	case StaircaseEvent:
		return fmt.Sprintf("staircase(%v %s %d)", e.Sensitivity, digits(e.Epsilon), e.Step)
	case RecycledEvent:
		return fmt.Sprintf("recycled(%s %d %s)", Exact(e.Kernel), e.Boundary, digits(e.Recycle))
	case PureEvent:
		return fmt.Sprintf("pure(%s)", digits(e.Epsilon))
	case BoundedRangeEvent:
		return fmt.Sprintf("range(%s)", digits(e.Epsilon))
	case ApproximateEvent:
		return fmt.Sprintf("approximate(%s %s)", Exact(e.Of), digits(e.Delta))
	case RefinementEvent:
		return fmt.Sprintf("refinement(%v %s %s)", e.Sensitivity, digits(e.Before), digits(e.After))
	case ReductionEvent:
		return fmt.Sprintf("reduction(%v %s %s %s)", e.Sensitivity, digits(e.Before), digits(e.After), digits(e.Cap))
	case ComposedEvent:
		parts := make([]string, len(e))
		for i, part := range e {
			parts[i] = Exact(part)
		}
		return "all(" + strings.Join(parts, " ") + ")"
	}
	return "?"
}

func digits(x *big.Rat) string {
	if x == nil {
		return "?"
	}
	return x.RatString()
}
