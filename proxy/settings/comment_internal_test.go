package settings

import (
	"strings"
	"testing"
)

func TestComments(t *testing.T) {
	for statement, want := range map[string]Settings{
		"SELECT 1":                                            {},
		"/* dp: epsilon=0.5 */ SELECT 1":                      {EpsilonPico: 5e11, Commented: true},
		"  \n/*dp:EPSILON = 2,mechanism=Gaussian*/ ":          {EpsilonPico: 2e12, Mechanism: "gaussian", Commented: true},
		"/* a tool */ -- dp: max_rows=7\nSELECT 1":            {MaxRows: 7, Commented: true},
		"--dp: max_partitions=1000000":                        {MaxPartitions: 1_000_000, Commented: true},
		"/* DP: notice=on */ /* dp: confidence=0.5 */ SELECT": {Notice: Brief, Confidence: 0.5, Commented: true},
		"/* /* dp: epsilon=1 */ */ SELECT 1":                  {},
		"/* for dp: epsilon=1 */ SELECT 1":                    {},
		"SELECT /* dp: epsilon=1 */ 1":                        {},
		"/* dp: epsilon=1":                                    {},
		"/* dp: /* nested */ epsilon=1":                       {},
		"":                                                    {},
	} {
		var got Settings
		if err := got.parseComments(statement); err != nil || got != want {
			t.Errorf("%q: %+v, %v", statement, got, err)
		}
	}
	var s Settings
	if err := s.parseComments("/* dp: max_sum=1e6 */ SELECT"); err != nil || s.MaxSum.RatString() != "1000000" {
		t.Errorf("max_sum is %v, %v", s.MaxSum, err)
	}
}

func TestBadComments(t *testing.T) {
	for statement, want := range map[string]struct{ code, at string }{
		"/* dp: epslion=1 */ SELECT":                      {"42704", "epslion"},
		"/* a */ /* dp: epsilon=0.5,\n mechanism=none */": {"22023", "mechanism"},
		"-- dp: epsilon=":                                 {"42601", "epsilon"},
		"/* dp: epsilon */":                               {"42601", "epsilon"},
		"/* dp: */":                                       {"42601", "*/"},
		"/* dp: epsilon=1, epsilon=2 */":                  {"42601", "epsilon=2"},
		"/* dp: epsilon=1 mechanism=laplace */":           {"22023", "epsilon"},
		"/* dp: dp.epsilon=1 */":                          {"42704", "dp.epsilon"},
		"/* dp: max_rows=0 */":                            {"22023", "max_rows"},
		"/* dp: max_rows=1e3 */":                          {"22023", "max_rows"},
		"/* dp: max_partitions=1000001 */":                {"22023", "max_partitions"},
		"/* dp: max_sum=0 */":                             {"22023", "max_sum"},
		"/* dp: max_sum=-1 */":                            {"22023", "max_sum"},
		"/* dp: max_sum=NaN */":                           {"22023", "max_sum"},
		"/* dp: max_sum=1e31 */":                          {"22023", "max_sum"},
		"/* dp: state=x */":                               {"42704", "state"},
	} {
		err := new(Settings).parseComments(statement)
		if err == nil {
			t.Errorf("%q was taken", statement)
			continue
		}
		if at := strings.LastIndex(statement, want.at) + 1; err.Code.String() != want.code || err.Position != at {
			t.Errorf("%q: %v at %d, want %s at %d", statement, err, err.Position, want.code, at)
		}
	}
}
