// Package publication has the records of published tables: all that dpproxy must know of its result, sealed with a key of the
// secret, so that they can stand on the mirror, where the owner of
// the table may write.
package publication

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"

	"dpproxy/accountant"
	"dpproxy/catalog"
)

// A Record is of the statements whose results a table has.
type Record struct {
	// Owner is the analyst who has published it. A record is of no table of anybody else's.
	Owner     string `json:"owner"`
	Statement string `json:"statement"`
	// Tables are those of the statements that an analyst needs a right to, views in place of the tables that they read.
	Tables []catalog.Name `json:"tables"`
	// Groups is how many rows the last statement has released.
	Groups int `json:"groups"`
	// Limits tell which limits it has chosen, and how much they leave out.
	Limits string `json:"limits,omitempty"`
	// AsOf is when the oldest of them was released, in seconds of Unix time; 0 if that is not known.
	AsOf int64 `json:"as_of,omitempty"`
	// Relations are those that the last statement reads, and Place digests their policy, their schema and the epoch of the data.
	Relations []catalog.Name `json:"relations,omitempty"`
	Place     string         `json:"place,omitempty"`
	// Price is that of the last statement that cost something for people, or of the last one, and Costs are its charges.
	Price string `json:"price"`
	Costs []Cost `json:"costs,omitempty"`
	// Spent are all charges together, since the table was made.
	Spent []Cost `json:"spent,omitempty"`
}

// A Cost is a charge to a budget, in 10⁻¹² of its measure.
type Cost struct {
	Scope accountant.Scope `json:"scope"`
	Pico  int64            `json:"pico"`
}

// With is the sum of two lists of costs.
func With(all, more []Cost) []Cost {
	all = slices.Clone(all)
	for _, c := range more {
		if i := slices.IndexFunc(all, func(a Cost) bool { return a.Scope == c.Scope }); i >= 0 {
			all[i].Pico += c.Pico
		} else {
			all = append(all, c)
		}
	}
	return all
}

// A Book seals and opens records. The zero Book has none.
type Book struct{ seal cipher.AEAD }

// NewBook returns the book of a key.
func NewBook(key [32]byte) Book {
	block, _ := aes.NewCipher(key[:]) // fails for other lengths alone
	seal, _ := cipher.NewGCM(block)   // and this for other blocks
	return Book{seal}
}

// Seal writes a record as a text that nobody without the key reads or writes.
func (b Book) Seal(r Record) (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	if b.seal == nil {
		return "", errors.New("publication: no key")
	}
	nonce := make([]byte, b.seal.NonceSize())
	rand.Read(nonce)
	return base64.RawStdEncoding.EncodeToString(b.seal.Seal(nonce, nonce, text, nil)), nil
}

// Open is the inverse of Seal; false of any other text.
func (b Book) Open(sealed string) (r Record, ok bool) {
	text, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil || b.seal == nil || len(text) < b.seal.NonceSize() {
		return Record{}, false
	}
	n := b.seal.NonceSize()
	text, err = b.seal.Open(nil, text[:n], text[n:], nil)
	return r, err == nil && json.Unmarshal(text, &r) == nil
}
