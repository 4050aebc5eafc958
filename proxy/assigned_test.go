package proxy_test

import (
	"strings"
	"testing"

	"dpproxy/proxy"
)

// TestAssigned holds that a setting is checked in whatever way a statement sets it: a misspelt one would be one that nothing reads.
func TestAssigned(t *testing.T) {
	w := newWorldWith(t, func(c *proxy.Config) {
		pooled := c.Analysts["bob"]
		pooled.Pooled = true
		c.Analysts["bob"] = pooled
	})
	c := w.client(t, "ana")
	const unknown, invalid, computed, refused, known = "42704", "22023", "0A000", "PB004", ""
	for _, test := range []struct {
		sql, want string
		args      []any
	}{
		{"SET dp.spendd = never", unknown, nil},
		{"SET LOCAL dp.spendd = never", unknown, nil},
		{"SET SESSION dp.spendd TO DEFAULT", unknown, nil},
		{"RESET dp.spendd", unknown, nil},
		{"SELECT set_config('dp.spendd', 'never', false)", unknown, nil},
		{"SELECT pg_catalog.set_config('DP.Spendd', 'never', true)", unknown, nil},
		{"SELECT \"set_config\"(E'dp.\\x73pendd', NULL, false)", unknown, nil},
		{"SELECT U&\"set\\005fconfig\"('dp.spendd', 'never', false)", unknown, nil},
		{"SELECT set_config(new_value => 'never', setting_name => 'dp.spendd', is_local => true)", unknown, nil},
		{"SELECT set_config(CAST('dp.spendd' AS text), x, false) FROM (VALUES ('never')) AS v(x)", unknown, nil},
		{"SELECT 1 WHERE EXISTS (SELECT FROM (SELECT set_config('dp.spendd', 'never', false) AS c) q)", unknown, nil},
		{"WITH w AS (SELECT set_config('dp.spendd', 'never', false) AS c) SELECT c FROM w", unknown, nil},
		{"CREATE TEMP TABLE made AS SELECT set_config('dp.spendd', 'never', false) AS c", unknown, nil},
		{"EXPLAIN SELECT set_config('dp.spendd', 'never', false)", unknown, nil},
		{"PREPARE p AS SELECT set_config('dp.spendd', 'never', false)", unknown, nil},
		{"PREPARE p AS SELECT set_config($1, 'never', false)", computed, nil},
		{"SELECT set_config($1, 'never', false)", unknown, []any{"dp.spendd"}},
		{"SELECT set_config($1, $2, false)", invalid, []any{"dp.spend", "sometimes"}},
		{"SELECT set_config($1, $2, false)", known, []any{"dp.spend", "always"}},
		{"SELECT set_config($1, $2, false)", known, []any{"app.user", "7"}},
		{"SELECT set_config('dp.' || 'spendd', 'never', false)", computed, nil},
		{"SELECT set_config(n, 'never', false) FROM (VALUES ('dp.spendd')) AS v(n)", computed, nil},
		{"SELECT set_config(name, 'never', false) FROM pg_settings WHERE name = 'dp.spendd'", unknown, nil},
		{"SELECT set_config(name, '5MB', false) FROM pg_settings WHERE setting <> '' AND name = 'work_mem'", known, nil},
		{"SELECT set_config(name, '5MB', false) FROM pg_settings WHERE name = 'work_mem' OR name = 'dp.spendd'", computed, nil},
		{"SELECT set_config(name, '5MB', false) FROM pg_settings WHERE name >= 'work_mem'", computed, nil},
		{"SELECT (SELECT set_config(name, '5MB', false) FROM pg_settings LIMIT 1) FROM pg_settings WHERE name = 'work_mem'", computed, nil},
		{"SELECT count(*) FROM patients WHERE birth_year > length((SELECT set_config('dp.spendd', 'never', false)))", unknown, nil},
		{"SELECT count(*) FROM patients WHERE birth_year > length((SELECT set_config('dp.notice', 'off', false)))", known, nil},
		{"SELECT count(*) FROM patients, (SELECT DISTINCT set_config('dp.notice', 'off', false) FROM hospitals) h", refused, nil},
		{"CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql SET dp.spendd = 'never' AS 'SELECT 1'", unknown, nil},
		{"ALTER FUNCTION pg_temp.f() SET dp.spendd = 'never'", unknown, nil},
		{"SELECT set_config('app.user', '7', false), set_config('work_mem', '5MB', true)", known, nil},
		{"SELECT 'set_config', current_setting('work_mem')", known, nil},
	} {
		_, err := c.Exec(t.Context(), test.sql, test.args...)
		if got := code(err); got != test.want {
			t.Errorf("%s %v: %v, want %q", test.sql, test.args, err, test.want)
		}
		if test.want == unknown && err != nil && !strings.Contains(err.Error(), "dp.spendd") {
			t.Errorf("%s: %v", test.sql, err)
		}
	}
	pooled := w.client(t, "bob")
	for sql, want := range map[string]string{
		"SELECT set_config('dp.epsilon', '0.5', false)": computed, "SELECT set_config('dp.epsilon', '0.5', true)": known,
	} {
		if _, err := pooled.Exec(t.Context(), sql); code(err) != want {
			t.Errorf("behind a pooler: %s: %v, want %q", sql, err, want)
		}
	}
}
