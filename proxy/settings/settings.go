// Package settings reads the dp. settings of a session, and of the comments of a statement. It
// knows their names and limits, and nothing of how they are used.
package settings

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// Settings are the values of the dp. settings in one session, or for one statement.
type Settings struct {
	EpsilonPico int64 // 10⁻¹² of ε
	Mechanism   string
	Confidence  float64
	Notice      Notice
	Losses      bool // prices are told as losses too, in ρ or ε
	// MaxRows, MaxPartitions and MaxSum are the limits that the analyst puts on contributions:
	// a lower limit of the policy comes first. 0 and nil are none.
	MaxRows, MaxPartitions int64
	MaxSum                 *big.Rat
	// Contribution is how limits of contributions are found, a word of [planner.Contributions];
	// empty: as the policy says.
	Contribution string
	// Target is the error that is asked for, and MaxEpsilonPico the price of reaching it at most;
	// 0: EpsilonPico.
	Target         planner.Target
	MaxEpsilonPico int64
	Capped         bool // MaxEpsilonPico is the analyst's own
	Refine         bool
	NoRows         bool   // rows of protected tables are shown as none, not refused
	ShowSmall      bool   // values of groups that may have no row are shown
	EmptyGroups    string // of public groups without a row: a word of [planner.EmptyGroupWords]; empty: they are shown
	MinimumPeople  int64  // how many people a group must have to be shown; the largest of this and the policy's holds
	Consistent     bool   // cells of counts and sums are not negative, and add up
	// MaxAge is how old releases of former epochs may be that answer; 0: they may not.
	MaxAge       time.Duration
	ErrorColumns parser.ErrorColumns // that a query gets after its own; empty: none
	NoIntervals  bool                // no error of percentiles is asked for
	LimitRetry   bool                // a limit that leaves out too much is chosen once more
	Top          string              // how the top of groups is found, a word of [planner.TopWords]; empty: auto
	Totals       string              // when running totals are measured, a word of [planner.TotalsWords]; empty: auto
	Spending     string              // which statements that cost are run: Always, Confirmed or Never; empty: Always
	Commented    bool                // a comment of the statement sets something: its author knows that it costs
}

// A Notice is how much is told of an answer beside it, a word of dp.notice.
type Notice string

// The words of dp.notice. On is another word for Brief.
const (
	Brief   Notice = "brief" // how wrong it may be, and its price, in one line; and in another all that it leaves out
	Full    Notice = "full"  // all that there is to say
	Silence Notice = "off"
)

// The words of dp.spend. Confirmed statements are those whose price was shown, and those with a comment of ours.
const (
	Always    = "always"
	Confirmed = "confirmed"
	Never     = "never"
)

// Spend returns the ε that the statement wants to spend, or, to reach a target, at most, in 10⁻¹².
func (s *Settings) Spend() int64 {
	switch {
	case s.MaxEpsilonPico == 0:
		return s.EpsilonPico
	case s.Target.Error > 0 || s.Target.Relative > 0:
		return s.MaxEpsilonPico
	}
	return min(s.EpsilonPico, s.MaxEpsilonPico)
}

// A setting is one of them: its name without the prefix, the values that it takes, in words, and
// a function that sets it, and reports whether the value is one of these.
type setting struct {
	name, want string
	set        func(s *Settings, value string) bool
}

// knownSettings are in the order in which the prelude asks for them.
var knownSettings = []setting{
	{"epsilon", "a number from 1e-12 to 1000", func(s *Settings, value string) bool { return setEpsilon(&s.EpsilonPico, value) }},
	{"mechanism", strings.Join(planner.MechanismNames(), ", "), (*Settings).setMechanism},
	{"confidence", "a number from 0.5 to 0.999999", (*Settings).setConfidence},
	{"notice", "brief, full or off", (*Settings).setNotice},
	{"price", "share or loss", (*Settings).setPrice},
	{"max_rows", "a whole number from 1 to 1000000", func(s *Settings, value string) bool { return setCount(&s.MaxRows, value) }},
	{
		"max_partitions", "a whole number from 1 to 1000000",
		func(s *Settings, value string) bool { return setCount(&s.MaxPartitions, value) },
	},
	{"max_sum", "a number from 1e-15 to 1e30", (*Settings).setMaxSum},
	{"contribution", strings.Join(planner.Contributions(), ", ") + ", default", (*Settings).setContribution},
	{
		"error", "a number from 1e-15 to 1e30, or off",
		func(s *Settings, value string) bool { return setTarget(&s.Target.Error, value, 1e-15, 1e30) },
	},
	{
		"relative_error", "a number from 0.0001 to 1, or off",
		func(s *Settings, value string) bool { return setTarget(&s.Target.Relative, value, 1e-4, 1) },
	},
	{"target_fraction", "a number from 0.01 to 1", func(s *Settings, value string) bool { return setFraction(&s.Target.Fraction, value) }},
	{"max_epsilon", "a number from 1e-12 to 1000", (*Settings).setMaxEpsilon},
	{"refine", "on or off", func(s *Settings, value string) bool { return setSwitch(&s.Refine, value) }},
	{"rows", "refuse or none", (*Settings).setRows},
	{"small_groups", "hide or show", (*Settings).setSmallGroups},
	{"empty_groups", strings.Join(planner.EmptyGroupWords(), ", "), (*Settings).setEmptyGroups},
	{
		"minimum_people", "a whole number from 1 to 1000000",
		func(s *Settings, value string) bool { return setCount(&s.MinimumPeople, value) },
	},
	{"consistent", "on or off", func(s *Settings, value string) bool { return setSwitch(&s.Consistent, value) }},
	{"columns", strings.Join(parser.ErrorColumnsWords(), ", "), (*Settings).setColumns},
	{"intervals", "on or off", (*Settings).setIntervals},
	{"limit_retry", "on or off", func(s *Settings, value string) bool { return setSwitch(&s.LimitRetry, value) }},
	{"top", strings.Join(planner.TopWords(), ", "), (*Settings).setTop},
	{"totals", strings.Join(planner.TotalsWords(), ", "), (*Settings).setTotals},
	{"max_age", "an age such as 12h or 30d, or epoch", (*Settings).setMaxAge},
	{"spend", strings.Join([]string{Always, Confirmed, Never}, ", "), (*Settings).setSpending},
}

// Limits of the settings. An epsilon above the largest could not be told from no
// privacy at all; the unit's budget refuses it long before.
const (
	maxEpsilonPico = 1000 * dp.PicoPerUnit
	minConfidence  = 0.5
	maxConfidence  = 0.999999
	maxCount       = 1_000_000
	minFraction    = 0.01
)

// Limits of dp.max_sum.
var (
	minSum = new(big.Rat).SetFrac(big.NewInt(1), power(10, 15))
	maxSum = new(big.Rat).SetInt(power(10, 30))
)

func power(base, exponent int64) *big.Int {
	return new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil)
}

// Names returns the names of the settings, without the prefix, in the order of the prelude.
func Names() []string {
	names := make([]string, len(knownSettings))
	for i, k := range knownSettings {
		names[i] = k.name
	}
	return names
}

// shown ends the text of a default that sessions begin with. Postgres and its clients take numbers with blanks behind them
// for what they are, and no value that somebody sets ends with just these, be it padded.
const shown = " \t"

// Shown returns the settings as sessions begin with them, so that SHOW and current_setting know them before a SET: to Parse
// these texts are no settings, and the defaults of tables hold. A setting without a default is empty.
func (s *Settings) Shown() map[string]string {
	fraction := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	target := func(x float64) string {
		if x == 0 {
			return "off"
		}
		return fraction(x)
	}
	texts := map[string]string{
		"epsilon": dp.Decimal(s.EpsilonPico, 12), "mechanism": s.Mechanism, "confidence": fraction(s.Confidence),
		"notice": string(s.Notice), "price": "share",
		"contribution": "default", "error": target(s.Target.Error), "relative_error": target(s.Target.Relative),
		"target_fraction": fraction(cmp.Or(s.Target.Fraction, 1)), "refine": "off", "rows": "refuse",
		"small_groups": "hide", "empty_groups": "show",
		"consistent": "off", "columns": "values", "intervals": "on", "limit_retry": "off", "top": "auto", "totals": "auto",
		"max_age": "epoch", "spend": Always,
	}
	if s.MinimumPeople > 0 {
		texts["minimum_people"] = strconv.FormatInt(s.MinimumPeople, 10)
	}
	if s.MaxEpsilonPico > 0 {
		texts["max_epsilon"] = dp.Decimal(s.MaxEpsilonPico, 12)
	}
	if s.Refine {
		texts["refine"] = "on"
	}
	all := map[string]string{}
	for _, name := range Names() {
		all[prefix+name] = texts[name] + shown
	}
	return all
}

// Parse reads a setting from text. An empty value is the default, since RESET and
// DISCARD leave an empty string behind, and so is one of [Settings.Shown]. Its errors are UndefinedObject and InvalidParameterValue.
func (s *Settings) Parse(name, value string) *pgerr.Error {
	i := slices.IndexFunc(knownSettings, func(k setting) bool { return k.name == name })
	if i < 0 {
		meant := ""
		if near := nearest(clip(name), Names()); near != "" {
			meant = "Perhaps you mean dp." + near + ". "
		}
		return pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter %q", "dp."+clip(name)).
			WithHint("%sThe settings are dp.%s.", meant, strings.Join(Names(), ", dp."))
	}
	if strings.HasSuffix(value, shown) {
		return nil
	}
	value = strings.TrimSpace(value)
	if value == "" || knownSettings[i].set(s, value) {
		return nil
	}
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", "dp."+name, clip(value)).
		WithHint("Use %s.", knownSettings[i].want)
}

func setEpsilon(to *int64, value string) bool {
	e, ok := decimal(value)
	pico := new(big.Rat).Mul(e, big.NewRat(dp.PicoPerUnit, 1))
	if !ok || pico.Cmp(big.NewRat(1, 1)) < 0 || pico.Cmp(big.NewRat(maxEpsilonPico, 1)) > 0 {
		return false
	}
	*to = new(big.Int).Quo(pico.Num(), pico.Denom()).Int64()
	return true
}

func (s *Settings) setMaxEpsilon(value string) bool {
	s.Capped = true
	return setEpsilon(&s.MaxEpsilonPico, value)
}

// setTarget reads an error that is asked for. Without one it is 0.
func setTarget(to *float64, value string, least, most float64) bool {
	if strings.EqualFold(value, "off") {
		*to = 0
		return true
	}
	x, ok := decimal(value)
	f, _ := x.Float64()
	if !ok || f < least || f > most {
		return false
	}
	*to = f
	return true
}

func setFraction(to *float64, value string) bool {
	x, ok := decimal(value)
	f, _ := x.Float64()
	if !ok || f < minFraction || f > 1 {
		return false
	}
	*to = f
	return true
}

func (s *Settings) setMechanism(value string) bool {
	s.Mechanism = strings.ToLower(value)
	return slices.Contains(planner.MechanismNames(), s.Mechanism)
}

func (s *Settings) setContribution(value string) bool {
	s.Contribution = strings.ToLower(value)
	if s.Contribution == "default" {
		s.Contribution = ""
		return true
	}
	return slices.Contains(planner.Contributions(), s.Contribution)
}

func (s *Settings) setConfidence(value string) bool {
	c, ok := decimal(value)
	s.Confidence, _ = c.Float64()
	return ok && s.Confidence >= minConfidence && s.Confidence <= maxConfidence
}

func (s *Settings) setRows(value string) bool {
	s.NoRows = strings.EqualFold(value, "none")
	return s.NoRows || strings.EqualFold(value, "refuse")
}

func (s *Settings) setSmallGroups(value string) bool {
	s.ShowSmall = strings.EqualFold(value, "show")
	return s.ShowSmall || strings.EqualFold(value, "hide")
}

func (s *Settings) setEmptyGroups(value string) bool {
	s.EmptyGroups = strings.ToLower(value)
	return slices.Contains(planner.EmptyGroupWords(), s.EmptyGroups)
}

func (s *Settings) setColumns(value string) bool {
	s.ErrorColumns = parser.ErrorColumns(strings.ToLower(value))
	return slices.Contains(parser.ErrorColumnsWords(), string(s.ErrorColumns))
}

// Widens reports whether a word of dp.columns gives statements more columns. "" is the default.
func Widens(columns string) bool { return columns != "" && columns != string(parser.Values) }

func (s *Settings) setIntervals(value string) bool {
	intervals := false
	ok := setSwitch(&intervals, value)
	s.NoIntervals = !intervals
	return ok
}

func (s *Settings) setNotice(value string) bool {
	on := false
	s.Notice = Notice(strings.ToLower(value))
	if setSwitch(&on, value) {
		s.Notice = map[bool]Notice{true: Brief, false: Silence}[on]
	}
	return slices.Contains([]Notice{Brief, Full, Silence}, s.Notice)
}

func (s *Settings) setPrice(value string) bool {
	word := strings.ToLower(value)
	s.Losses = word == "loss"
	return s.Losses || word == "share"
}

func (s *Settings) setTop(value string) bool {
	s.Top = strings.ToLower(value)
	return slices.Contains(planner.TopWords(), s.Top)
}

func (s *Settings) setTotals(value string) bool {
	s.Totals = strings.ToLower(value)
	return slices.Contains(planner.TotalsWords(), s.Totals)
}

func (s *Settings) setMaxAge(value string) (ok bool) {
	s.MaxAge, ok = answers.ParseAge(strings.ToLower(value))
	return ok
}

func (s *Settings) setSpending(value string) bool {
	s.Spending = strings.ToLower(value)
	return slices.Contains([]string{Always, Confirmed, Never}, s.Spending)
}

func setSwitch(to *bool, value string) bool {
	on, ok := map[string]bool{
		"on": true, "true": true, "yes": true, "1": true, "off": false, "false": false, "no": false, "0": false,
	}[strings.ToLower(value)]
	*to = on
	return ok
}

func setCount(n *int64, value string) bool {
	var err error
	*n, err = strconv.ParseInt(value, 10, 64)
	return err == nil && *n >= 1 && *n <= maxCount
}

func (s *Settings) setMaxSum(value string) bool {
	var ok bool
	s.MaxSum, ok = decimal(value)
	return ok && s.MaxSum.Cmp(minSum) >= 0 && s.MaxSum.Cmp(maxSum) <= 0
}

// decimal reads a plain decimal number, exactly. Fractions, hexadecimal digits,
// infinities, and exponents that would make a number of many digits are refused.
func decimal(s string) (*big.Rat, bool) {
	const longest = 30
	if len(s) > longest || strings.Trim(s, "0123456789.eE+-") != "" {
		return new(big.Rat), false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(strings.Trim(s[i+1:], "+-")) > 2 {
		return new(big.Rat), false
	}
	if r, ok := new(big.Rat).SetString(s); ok {
		return r, true
	}
	return new(big.Rat), false
}

// clip shortens a value of the analyst's own for an error message.
func clip(s string) string {
	const longest = 60
	if len(s) > longest {
		return strings.ToValidUTF8(s[:longest], "") + "..."
	}
	return s
}

// Check refuses an assignment to a dp. setting that does not exist, or a
// value that it cannot have; Postgres itself accepts any name with a dot.
func Check(set *parser.Setting) error {
	value := set.Value
	if set.Reset {
		value = ""
	}
	err := check(set.Name, value)
	switch {
	case err == nil:
		return nil
	case err.Code == pgerr.UndefinedObject:
		return err.At(set.At)
	}
	return err
}

// CheckLogin refuses the settings that a client logs in with where one of class dp cannot be set.
func CheckLogin(params map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		lower := strings.ToLower(name) // Postgres takes either case
		if !strings.HasPrefix(lower, prefix) {
			continue
		}
		if err := check(lower, params[name]); err != nil {
			return err
		}
	}
	return nil
}

// prefix begins the names of the settings.
const prefix = "dp."

func check(name, value string) *pgerr.Error {
	err := new(Settings).Parse(strings.TrimPrefix(name, prefix), value)
	if err == nil && strings.HasSuffix(value, shown) { // which would be taken for a default
		return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", clip(name), clip(value)).
			WithHint("Write it without blanks behind it.")
	}
	return err
}
