package witness

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/dp"
)

// A Mark says how far a ledger was, and how much was spent and held by then.
type Mark = history.Moment

// ErrSeal is wrapped where a mark was not sealed with the key.
var ErrSeal = errors.New("witness: the mark is not one of this secret, or damaged")

// The JSON of a mark. Numbers have all their digits, so that marks of the same budgets are of the same length.
type markJSON struct {
	Seq     string       `json:"seq"`
	Head    string       `json:"head"`
	Budgets []budgetJSON `json:"budgets"`
}

type budgetJSON struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Measure string `json:"measure"`
	Limit   string `json:"limit"`
	Spent   string `json:"spent"`
	Held    string `json:"held"`
	Frozen  string `json:"frozen"`
}

// step divides the lengths of marks.
const step = 512

// seal returns a mark that only the key reads and makes.
func seal(key []byte, m Mark) ([]byte, error) {
	j := markJSON{Seq: fmt.Sprintf("%020d", m.Seq), Head: hex.EncodeToString(m.Head[:])}
	for _, b := range m.Balances {
		j.Budgets = append(j.Budgets, budgetJSON{
			string(b.Scope.Kind), b.Scope.Name, b.Limit.Measure().String(), digits(b.Limit), digits(b.Spent), digits(b.Held),
			fmt.Sprintf("%-5t", b.Frozen),
		})
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	text = append(text, bytes.Repeat([]byte(" "), step-1-(len(text)+step-1)%step)...)
	box, err := box(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, box.NonceSize())
	_, _ = rand.Read(nonce) // ends the process instead of failing
	return box.Seal(nonce, nonce, text, []byte(m.Ledger)), nil
}

// unseal is the inverse of seal.
func unseal(key []byte, ledger string, sealed []byte) (Mark, error) {
	box, err := box(key)
	if err != nil {
		return Mark{}, err
	}
	if len(sealed) < box.NonceSize() {
		return Mark{}, ErrSeal
	}
	text, err := box.Open(nil, sealed[:box.NonceSize()], sealed[box.NonceSize():], []byte(ledger))
	if err != nil {
		return Mark{}, ErrSeal
	}
	var j markJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return Mark{}, fmt.Errorf("%w: %w", ErrSeal, err)
	}
	m := Mark{Ledger: ledger}
	head, err := hex.DecodeString(j.Head)
	if _, scanned := fmt.Sscanf(j.Seq, "%d", &m.Seq); err != nil || scanned != nil || len(head) != len(m.Head) {
		return Mark{}, ErrSeal
	}
	m.Head = history.Hash(head)
	for _, b := range j.Budgets {
		balance, err := b.balance()
		if err != nil {
			return Mark{}, fmt.Errorf("%w: %w", ErrSeal, err)
		}
		m.Balances = append(m.Balances, balance)
	}
	return m, nil
}

func box(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func digits(l dp.Loss) string { return fmt.Sprintf("%020d %020d", l.Pico(), l.Atto()) }

func (b budgetJSON) balance() (accountant.Balance, error) {
	measure, err := dp.ParseMeasure(b.Measure)
	if err != nil {
		return accountant.Balance{}, err
	}
	all := [3]dp.Loss{}
	for i, text := range []string{b.Limit, b.Spent, b.Held} {
		var pico, atto int64
		if _, err := fmt.Sscanf(text, "%d %d", &pico, &atto); err != nil {
			return accountant.Balance{}, err
		}
		if all[i], err = dp.NewLoss(measure, pico, atto); err != nil {
			return accountant.Balance{}, err
		}
	}
	return accountant.Balance{
		Scope: accountant.Scope{Kind: accountant.ScopeKind(b.Kind), Name: b.Name},
		Limit: all[0], Spent: all[1], Held: all[2], Frozen: b.Frozen == "true ",
	}, nil
}
