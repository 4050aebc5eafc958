package accountant

// PureRho and LaplaceRho are prices before they are rounded to integers.
var (
	PureRho    = pureRho
	LaplaceRho = laplaceRho
)
