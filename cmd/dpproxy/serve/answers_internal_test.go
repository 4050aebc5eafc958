package serve

import (
	"encoding/json"
	"math/big"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// TestQuestionsOutliveAnUpgrade has the text of a policy that remembered answers depend on: if it
// changes, every answer that sites remember is asked, and paid for, again.
func TestQuestionsOutliveAnUpgrade(t *testing.T) {
	visits := catalog.Name{Schema: "public", Name: "visits"}
	text, err := json.Marshal([]policy.TablePolicy{{
		Name: visits, UnitColumn: "patient_id", MaxRows: 20, MaxPartitions: 4, NotProtected: []string{"doctor"},
		Columns: map[string]policy.ColumnPolicy{
			"cost": {Bounds: &policy.Bounds{Low: big.NewRat(0, 1), High: big.NewRat(20_000, 1), LowText: "0", HighText: "20000"}},
			"kind": {Values: []string{"a"}, Hidden: true, EnumValues: true},
		},
	}, {Name: visits, Via: "visit", To: policy.ColumnName{Table: visits, Column: "id"}, Public: true}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"Name":{"Schema":"public","Name":"visits"},"Public":false,"UnitColumn":"patient_id","Via":"",` +
		`"To":{"Table":{"Schema":"","Name":""},"Column":""},"MaxRows":20,"MaxPartitions":4,"NotProtected":["doctor"],` +
		`"Columns":{"cost":{"Hidden":false,"Bounds":{"Low":"0","High":"20000","LowText":"0","HighText":"20000"},` +
		`"Values":null,"EnumValues":false},"kind":{"Hidden":true,"Bounds":null,"Values":["a"],"EnumValues":true}}},` +
		`{"Name":{"Schema":"public","Name":"visits"},"Public":true,"UnitColumn":"","Via":"visit",` +
		`"To":{"Table":{"Schema":"public","Name":"visits"},"Column":"id"},"MaxRows":0,"MaxPartitions":0,` +
		`"NotProtected":null,"Columns":null}]`
	if string(text) != want {
		t.Errorf("the text of a policy is\n%s\nand was\n%s", text, want)
	}
}
