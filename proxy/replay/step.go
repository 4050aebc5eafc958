package replay

import (
	"math"
	"strconv"
	"strings"
)

// A digits is how finely the texts of a column show its numbers, which the statement or the session may have rounded. The error of a value
// includes half of the step between two such texts: replicas that are all rounded to one value do not show how far it is from theirs.
type digits struct {
	none        bool    // the column has no numbers
	kept        int     // those that the session keeps of each number of the column's type; 0 if it shows all
	place       float64 // of the last digit of the finest text
	significant int     // digits of the longest
	rounded     bool    // any text has a decimal point or an exponent; whole numbers without are taken as they are
	largest     float64
}

// negligible is the part of the largest value from which a step is no rounding but the precision of a type.
const negligible = 1e-9

// Shown is how a column shows its values.
type Shown int

// Columns without numbers, of exact numbers, and of floating-point numbers of either length.
const (
	NoNumber Shown = iota
	Exact
	Single
	Double
)

// digits are those of a column in a session with a value of extra_float_digits.
func (s Shown) digits(extra int) digits {
	d := digits{none: s == NoNumber, place: math.Inf(1)}
	if of := map[Shown]int{Single: 6, Double: 15}[s]; of > 0 && extra < 1 {
		d.kept = max(of+extra, 1)
	}
	return d
}

// read reads the texts of a column in rows of the answer and of replicas.
func (d *digits) read(at int, answer [][]*string, replicas [][][]*string) {
	for _, rows := range append([][][]*string{answer}, replicas...) {
		for _, row := range rows {
			if row != nil {
				d.add(row[at])
			}
		}
	}
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
	if d.kept > 0 && value != 0 {
		if step := unit(value, d.kept); step > negligible*math.Abs(value) {
			return step / 2
		}
	}
	if !d.rounded || d.place < negligible*d.largest {
		return 0
	}
	step := d.place
	if value != 0 {
		step = math.Max(step, unit(value, d.significant))
	}
	return step / 2
}

// unit is that of the last of so many significant digits of a value.
func unit(value float64, digits int) float64 {
	return math.Pow(10, math.Floor(math.Log10(math.Abs(value)))+1-float64(digits))
}
