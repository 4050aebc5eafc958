package replay

import (
	"math"
	"strconv"
	"strings"
)

// A digits is how finely the texts of a column show its numbers, which the statement or the session may have rounded. The error of a value
// includes half of the step between two such texts: replicas that are all rounded to one value do not show how far it is from theirs.
type digits struct {
	place       float64 // of the last digit of the finest text
	significant int     // digits of the longest
	rounded     bool    // any text has a decimal point or an exponent; whole numbers without are taken as they are
	largest     float64
}

// negligible is the part of the largest value from which a step is no rounding but the precision of a type.
const negligible = 1e-9

// digitsOf reads the texts of a column in rows of the answer and of replicas.
func digitsOf(at int, answer [][]*string, replicas [][][]*string) digits {
	d := digits{place: math.Inf(1)}
	for _, rows := range append([][][]*string{answer}, replicas...) {
		for _, row := range rows {
			if row != nil {
				d.add(row[at])
			}
		}
	}
	return d
}

func (d *digits) add(text *string) {
	x, ok := finite(text)
	if !ok || x == 0 {
		return
	}
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(*text), "e")
	whole, decimals, pointed := strings.Cut(strings.TrimLeft(mantissa, "+-"), ".")
	power, _ := strconv.Atoi(exponent) // 0 without one
	d.place = math.Min(d.place, math.Pow(10, float64(power-len(decimals))))
	d.significant = max(d.significant, len(strings.TrimLeft(whole+decimals, "0")))
	d.rounded = d.rounded || pointed || scaled
	d.largest = math.Max(d.largest, math.Abs(x))
}

// half is half of the step at a value; 0 if nothing shows that values are rounded.
func (d *digits) half(value float64) float64 {
	if !d.rounded || d.place < negligible*d.largest {
		return 0
	}
	step := d.place
	if value != 0 {
		step = math.Max(step, math.Pow(10, math.Floor(math.Log10(math.Abs(value)))+1-float64(d.significant)))
	}
	return step / 2
}
