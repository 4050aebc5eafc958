package survey

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpproxy/accountant/realized"
)

// A Column is a private column as a question was asked about it.
type Column struct {
	Name string `json:"name"`
	// Whole says that its values are integers.
	Whole bool `json:"whole,omitempty"`
	// Values are those of a category, in their order; a number has none, and lies from Low to High.
	Values []string `json:"values,omitempty"`
	Low    float64  `json:"low,omitempty"`
	High   float64  `json:"high,omitempty"`
}

// equal reports whether both are the same column, asked in the same way.
func (c Column) equal(other Column) bool {
	return c.Name == other.Name && c.Whole == other.Whole && slices.Equal(c.Values, other.Values) &&
		c.Low == other.Low && c.High == other.High
}

// category reports whether the column has listed values.
func (c Column) category() bool { return c.Values != nil }

// realized is the column as losses are computed over it.
func (c Column) realized() realized.Column {
	if !c.category() {
		return realized.Column{Low: c.Low, High: c.High}
	}
	return realized.Column{Values: len(c.Values), Numbers: c.numbers()}
}

// numbers are the values of a category that are all numbers, nil if they are not.
func (c Column) numbers() []float64 {
	var numbers []float64
	for _, v := range c.Values {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || strings.ContainsAny(v, "xXnNiI_") { // NaN, infinities and other spellings of Go
			return nil
		}
		numbers = append(numbers, x)
	}
	return numbers
}

// ErrOther is wrapped where a column has other values or bounds than in an earlier survey of the same epoch.
var ErrOther = errors.New("survey: the column was asked about with other values or bounds")

// A columns is a domain of several columns.
type columns []Column

// index returns the place of the column of that name, −1 if there is none.
func (c columns) index(name string) int {
	return slices.IndexFunc(c, func(col Column) bool { return col.Name == name })
}

// with returns the columns and those of others that it lacks. Columns that were asked about in two ways are an error.
func (c columns) with(others []Column) (columns, error) {
	all := slices.Clone(c)
	for _, o := range others {
		i := all.index(o.Name)
		if i < 0 {
			all = append(all, o)
		} else if !all[i].equal(o) {
			return nil, fmt.Errorf("%w: %s", ErrOther, o.Name)
		}
	}
	return all, nil
}

// domain returns the columns as a domain.
func (c columns) domain() (*realized.Domain, error) {
	all := make([]realized.Column, len(c))
	for i, col := range c {
		all[i] = col.realized()
	}
	return realized.NewDomain(all...)
}
