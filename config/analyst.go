package config

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"dpproxy/answers"
	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/planner"
)

func readAnalysts(v value) []Analyst {
	var analysts []Analyst
	v.entries(func(name string, c value, place position) {
		checkRoleName(c.placed(place), name)
		a := readAnalyst(c)
		a.Name = name
		analysts = append(analysts, a)
	})
	return analysts
}

// checkRoleName checks that a role of the mirror can have the name, and that it is not
// one of dpproxy's own.
func checkRoleName(v value, s string) {
	checkIdentifier(v, s)
	lower := strings.ToLower(s)
	if strings.HasPrefix(lower, "pg_") || strings.HasPrefix(lower, "dpproxy_") || lower == "public" || lower == "none" {
		v.fail("this name is reserved: an analyst cannot be public or none, nor begin with pg_ or dpproxy_")
	}
}

func readAnalyst(v value) (a Analyst) {
	stated := decode(v, analystKeys, &a)
	if _, ok := v.node.(ast.MapNode); ok && !slices.Contains(stated, "password") {
		v.d.passwordless = append(v.d.passwordless, v)
	}
	return a
}

// readTableNames reads a list of tables, and leaves out entries that are no names.
func readTableNames(v value) (names []catalog.Name) {
	v.list(func(c value) {
		faults := len(c.d.faults)
		s := c.text()
		if len(c.d.faults) > faults {
			return
		}
		if n := readTableName(c, s); len(c.d.faults) == faults {
			names = append(names, n)
		}
	})
	return names
}

var verifierText = regexp.MustCompile(`^SCRAM-SHA-256\$([1-9][0-9]{0,8}):([^:$]+)\$([^:$]+):([^:$]+)$`)

// readVerifier reads a SCRAM verifier. It never repeats the text in a fault.
func readVerifier(v value) string {
	v.conceal()
	s := v.text()
	if s != "" && !isVerifier(s) {
		v.fail("this is not a SCRAM-SHA-256 verifier; make one from the password with dpproxy verifier")
	}
	return s
}

// Limits of a verifier. More iterations than these are minutes of work at each
// log-in.
const (
	keyBytes      = 32
	maxIterations = 10_000_000
)

// isVerifier reports whether Postgres would take the text for a SCRAM verifier.
func isVerifier(s string) bool {
	m := verifierText.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n > maxIterations {
		return false
	}
	var parts [3][]byte
	for i := range parts {
		if parts[i], err = base64.StdEncoding.DecodeString(m[2+i]); err != nil {
			return false
		}
	}
	return len(parts[0]) > 0 && len(parts[1]) == keyBytes && len(parts[2]) == keyBytes
}

// fixedSettings are settings that dpproxy itself relies on.
var fixedSettings = []string{
	"role", "session_authorization", "row_security", "session_replication_role", "standard_conforming_strings",
	"client_encoding", "search_path",
}

var settingName = regexp.MustCompile(`^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$`)

// ownSettings checks the values of dpproxy's own settings.
var ownSettings = map[string]func(value){
	"dp.epsilon":        func(v value) { v.epsilon(maxSettingEpsilon) },
	"dp.confidence":     func(v value) { readConfidence(v) },
	"dp.mechanism":      func(v value) { v.oneOf(planner.MechanismNames()...) },
	"dp.notice":         func(v value) { v.oneOf("brief", "full", "on", "off") },
	"dp.price":          func(v value) { v.oneOf("share", "loss") },
	"dp.max_rows":       func(v value) { v.count(maxContribution) },
	"dp.max_partitions": func(v value) { v.count(maxContribution) },
	"dp.max_sum":        func(v value) { v.sum() },
	"dp.contribution":   func(v value) { v.oneOf(append(planner.Contributions(), "default")...) },

	"dp.error":           func(v value) { v.targetOr(leastError, mostError) },
	"dp.relative_error":  func(v value) { v.targetOr(leastRelativeError, 1) },
	"dp.target_fraction": func(v value) { v.between(leastFraction, 1) },
	"dp.max_epsilon":     func(v value) { v.epsilon(maxSettingEpsilon) },
	"dp.refine":          func(v value) { v.oneOf("on", "off") },
	"dp.rows":            func(v value) { v.oneOf("refuse", "none") },
	"dp.small_groups":    func(v value) { v.oneOf("hide", "show") },
	"dp.empty_groups":    func(v value) { v.oneOf(planner.EmptyGroupWords()...) },
	"dp.minimum_people":  func(v value) { v.count(maxContribution) },
	"dp.consistent":      func(v value) { v.oneOf("on", "off") },
	"dp.columns":         func(v value) { v.oneOf(parser.ErrorColumnsWords()...) },
	"dp.intervals":       func(v value) { v.oneOf("on", "off") },
	"dp.limit_retry":     func(v value) { v.oneOf("on", "off") },
	"dp.top":             func(v value) { v.oneOf(planner.TopWords()...) },
	"dp.totals":          func(v value) { v.oneOf(planner.TotalsWords()...) },
	"dp.max_age":         func(v value) { readAge(v) },
	"dp.spend":           func(v value) { v.oneOf("always", "confirmed", "never") },
}

// readAge checks an age of dp.max_age.
func readAge(v value) {
	if _, ok := answers.ParseAge(v.text()); !ok {
		v.fail("this is no age; write one such as 12h or 30d, or epoch")
	}
}

func readSettings(v value) map[string]string {
	settings := map[string]string{}
	v.entries(func(name string, c value, place position) {
		check, own := ownSettings[name]
		switch {
		case !settingName.MatchString(name):
			c.placed(place).fail("this cannot be the name of a setting; it has small letters")
		case slices.Contains(fixedSettings, name):
			c.placed(place).fail("this setting is dpproxy's own")
		case own:
			check(c)
		case strings.HasPrefix(name, "dp."):
			c.placed(place).fail("there is no such setting of dpproxy")
		}
		settings[name] = c.text()
	})
	return settings
}
