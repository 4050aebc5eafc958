package survey

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A Header describes a file of answers. It is the file's first line.
type Header struct {
	Table  string `json:"table"`
	Number int64  `json:"number"`
	// Name is that of the column of answers.
	Name        string   `json:"name"`
	Question    string   `json:"question"`
	Where       string   `json:"where,omitempty"`
	Kind        Kind     `json:"kind"`
	Columns     []Column `json:"columns"`
	Answers     []string `json:"answers"`
	EpsilonPico int64    `json:"epsilon"`
	// Never says that the values were promised not to change in the epoch.
	Never bool  `json:"never,omitempty"`
	Epoch int64 `json:"epoch,omitempty"`
	// Asked are the objects that the condition holds for, Answered those of them that have an answer.
	Asked    int64 `json:"asked"`
	Answered int64 `json:"answered"`
	// Objects are those of the first bytes of the file of keys, which have the digest.
	Objects    int64  `json:"objects"`
	KeysBytes  int64  `json:"keys_bytes"`
	KeysDigest string `json:"keys_sha256"`
}

// encode writes a file.
func (h *Header) encode(answers *packed) ([]byte, error) {
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return slices.Concat(line, []byte("\n"), answers.data), nil
}

// decode reads a file.
func decode(file []byte) (*Header, *packed, error) {
	line, data, ok := bytes.Cut(file, []byte("\n"))
	if !ok {
		return nil, nil, errors.New("survey: a file without a header")
	}
	h := &Header{}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(h); err != nil {
		return nil, nil, fmt.Errorf("survey: the header of a file: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("survey: a header with more behind it")
	}
	if len(h.Answers) < 2 || len(h.Answers) > maxValues {
		return nil, nil, fmt.Errorf("survey: a question with %d answers", len(h.Answers))
	}
	if !slices.Contains([]Kind{Category, Set, Number}, h.Kind) {
		return nil, nil, fmt.Errorf("survey: answers of the kind %q", h.Kind)
	}
	answers, err := unpack(h.Kind, len(h.Answers), h.Objects, data)
	return h, answers, err
}
