package history

import (
	"dpproxy/accountant"
	"dpproxy/dp"
)

// An amount is a loss in a scope, as JSON. Attos are a string because they exceed
// the integers that other readers of JSON keep exactly.
type amount struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Measure string `json:"measure"`
	Pico    int64  `json:"pico"`
	Atto    int64  `json:"atto,omitempty,string"`
}

func toAmount(s accountant.Scope, l dp.Loss) amount {
	return amount{string(s.Kind), s.Name, l.Measure().String(), l.Pico(), l.Atto()}
}

func toAmounts(debits []accountant.Debit) []amount {
	all := []amount{}
	for _, d := range debits {
		all = append(all, toAmount(d.Scope, d.Loss))
	}
	return all
}

func (a amount) scope() accountant.Scope {
	return accountant.Scope{Kind: accountant.ScopeKind(a.Kind), Name: a.Name}
}

func (a amount) debit() (accountant.Debit, error) {
	m, err := dp.ParseMeasure(a.Measure)
	if err != nil {
		return accountant.Debit{}, err
	}
	loss, err := dp.NewLoss(m, a.Pico, a.Atto)
	return accountant.Debit{Scope: a.scope(), Loss: loss}, err
}

func toDebits(all []amount) ([]accountant.Debit, error) {
	var debits []accountant.Debit
	for _, a := range all {
		d, err := a.debit()
		if err != nil {
			return nil, err
		}
		debits = append(debits, d)
	}
	return debits, nil
}
