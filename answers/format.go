package answers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
)

// errDamaged says that a key has no release, but something else.
var errDamaged = errors.New("answers: damaged")

// version is the version of [record]. Releases of format 2 are read too. Text in any other form is not a release.
const version = 3

// A record is a release as it is kept. Its payers are kept separately.
type record struct {
	Version  int           `json:"version"`
	Request  []byte        `json:"request,omitempty"`
	Sets     []GroupingSet `json:"sets"`
	Payments []Payment     `json:"payments,omitempty"`
}

// encode writes a release. A release that was read is written as it was read.
func encode(r *Release) ([]byte, error) {
	if r.body != nil {
		return r.body, nil
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return json.Marshal(record{version, r.Request, r.Sets, r.Payments})
}

// digest distinguishes the releases of one question.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// decode is the inverse of encode.
func decode(body []byte) (*Release, error) {
	var kept struct {
		record
		format2JSON
	}
	if err := json.Unmarshal(body, &kept); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	r := &Release{Request: kept.Request, Sets: kept.Sets, Payments: kept.Payments, body: body}
	var err error
	switch {
	case kept.Version == version && kept.Format == 0:
		err = r.check()
	case kept.Version == 0 && kept.Format == format2:
		r.Format2, err = kept.read()
	default:
		err = fmt.Errorf("it has version %d, format %d", kept.Version, kept.Format)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return r, nil
}

// A Format2 is a release by position: rows of integers, and their keys. The block says which row belongs to which grouping set.
type Format2 struct {
	Rows [][]*big.Int
	Keys [][]*string // nil, or the keys of each row
}

const format2 = 2

// format2JSON is a release of format 2 as it is kept; numbers are text.
type format2JSON struct {
	Format int         `json:"format"`
	Rows   [][]string  `json:"rows"`
	Keys   [][]*string `json:"keys"`
}

func (j format2JSON) read() (*Format2, error) {
	f := &Format2{Rows: make([][]*big.Int, len(j.Rows)), Keys: j.Keys}
	for i, row := range j.Rows {
		f.Rows[i] = make([]*big.Int, len(row))
		for k, text := range row {
			n, ok := new(big.Int).SetString(text, 10)
			if !ok {
				return nil, errors.New("what should be a number is none")
			}
			f.Rows[i][k] = n
		}
	}
	if f.Keys != nil && len(f.Keys) != len(f.Rows) {
		return nil, errors.New("there is not one key for each row")
	}
	return f, nil
}
