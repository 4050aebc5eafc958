package scalar

import (
	"math/big"
	"strings"
	"time"

	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// years is the interval of the moments that can be computed with: years 1 to 9999.
func years(t pgtype.Type) Interval {
	low, high := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	day := int64(24 * 60 * 60)
	i := span((low.Unix()-pgtype.Epoch.Unix())/day, (high.Unix()-pgtype.Epoch.Unix())/day)
	if t.OID != pgtype.Date {
		i.Low, i.High = i.Low.Mul(i.Low, rat(pgtype.MicrosPerDay)), i.High.Mul(i.High, rat(pgtype.MicrosPerDay))
	}
	return i
}

// remote reports whether a moment is outside of these years. The ranges of Postgres are larger, and differ between types.
func remote(at *big.Rat, t pgtype.Type) bool {
	if t.OID != pgtype.Date {
		at = floor(new(big.Rat).Quo(at, rat(pgtype.MicrosPerDay)))
	}
	return !Interval{Low: at, High: at}.within(years(pgtype.Of(pgtype.Date)))
}

// offset bounds the difference between a local time in a constant time zone and the instant: a day, and 0 for universal time.
func (values Values) offset(zone Expr) int64 {
	if c, ok := zone.(*constant); !ok || c.fold < 0 {
		return pgtype.MicrosPerDay
	}
	name, err := values.text(zone)
	if err != nil || name == nil {
		return pgtype.MicrosPerDay
	}
	switch strings.ToLower(*name) {
	case "utc", "etc/utc", "gmt", "etc/gmt", "uct", "etc/uct", "universal", "etc/universal", "zulu", "etc/zulu":
		return 0
	}
	return pgtype.MicrosPerDay
}

// zone writes a constant time zone.
func (w *Writer) zone(e Expr) (string, error) {
	name, err := w.Env.text(e)
	if err != nil {
		return "", err
	}
	f, err := w.write(e, asIs)
	if err != nil || name == nil {
		return f.sql, err
	}
	if w.Env.TimeZones[*name] {
		return f.sql, nil
	}
	for known := range w.Env.TimeZones {
		if strings.EqualFold(known, *name) {
			return f.sql, nil
		}
	}
	return "", pgerr.New(pgerr.NotAllowed, "the time zone %q is not one that the protected database knows by name", *name).At(e.Pos()).
		WithHint("Use a name like Europe/Vienna: SET TimeZone = 'Europe/Vienna'.")
}

// sessionZone writes the session's time zone.
func (w *Writer) sessionZone(fold, at int) (string, error) {
	return w.zone(zoneConstant(fold, at))
}
