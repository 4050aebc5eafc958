package pgtype

import (
	"math/big"
	"time"
)

// Floor returns the largest whole number that is not above r.
func Floor(r *big.Rat) *big.Int {
	q, _ := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int)) // Euclidean division by a positive number rounds down
	return q
}

// Ceil returns the smallest whole number that is not below r.
func Ceil(r *big.Rat) *big.Int { return new(big.Int).Neg(Floor(new(big.Rat).Neg(r))) }

// MicrosPerDay is how many microseconds a day of a timestamp has.
const MicrosPerDay = 86_400_000_000

// Epoch is the day that Postgres counts dates and timestamps from.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Moment returns the point in time that is so many microseconds behind [Epoch]. A Duration alone has
// 292 years.
func Moment(micros int64) time.Time {
	return Epoch.AddDate(0, 0, int(micros/MicrosPerDay)).Add(time.Duration(micros%MicrosPerDay) * time.Microsecond)
}

// DayOf counts the days from [Epoch] to a date.
func DayOf(year, month, day int64) int64 {
	date := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	return (date.Unix() - Epoch.Unix()) / (24 * 60 * 60)
}
