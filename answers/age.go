package answers

import (
	"regexp"
	"strconv"
	"time"
)

// mostAge bounds the age of a release that may answer.
const mostAge = 10 * 366 * 24 * time.Hour

var ageText = regexp.MustCompile(`^([1-9][0-9]{0,8}) ?(s|min|h|d)$`)

// ageUnits are Postgres's own units of time in settings.
var ageUnits = map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// ParseAge reads an age such as 90min, 12h or 30d, of ten years at most. The word epoch is the age 0: of the present epoch alone.
func ParseAge(text string) (age time.Duration, ok bool) {
	if text == "epoch" {
		return 0, true
	}
	m := ageText.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > int64(mostAge/ageUnits[m[2]]) {
		return 0, false
	}
	return time.Duration(n) * ageUnits[m[2]], true
}
