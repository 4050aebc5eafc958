package answers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// errDamaged says that a key has no release, but something else.
var errDamaged = errors.New("answers: damaged")

// version is the version of [record]. Text in any other form is not a release.
const version = 3

// A record is a release as it is kept. Its payers are kept separately.
type record struct {
	Version  int           `json:"version"`
	Request  []byte        `json:"request,omitempty"`
	Sets     []GroupingSet `json:"sets"`
	At       int64         `json:"at,omitempty"`
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
	return json.Marshal(record{version, r.Request, r.Sets, r.At, r.Payments})
}

// digest distinguishes the releases of one question.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// decode is the inverse of encode.
func decode(body []byte) (*Release, error) {
	var kept record
	if err := json.Unmarshal(body, &kept); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	r := &Release{Request: kept.Request, Sets: kept.Sets, At: kept.At, Payments: kept.Payments, body: body}
	err := r.check()
	if kept.Version != version {
		err = fmt.Errorf("it has version %d", kept.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return r, nil
}
