package wire

import (
	"bytes"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/pgerr"
)

// A capture collects the replies to a private question. The goroutine of replies fills it;
// the asker reads it when done is closed.
type capture struct {
	oids   []uint32
	fields []pgproto3.FieldDescription
	rows   [][][]byte
	size   int
	err    error
	done   chan struct{}
	ended  bool
}

func newCapture() *capture { return &capture{done: make(chan struct{})} }

// finish completes the capture once. Callers hold the pipeline's lock.
func (c *capture) finish(err error) {
	if c == nil || c.ended {
		return
	}
	c.ended, c.err = true, err
	close(c.done)
}

// add keeps a copy of a message.
func (c *capture) add(typ byte, raw []byte) error {
	body := raw[headerBytes:]
	switch typ {
	case 't':
		var m pgproto3.ParameterDescription
		err := m.Decode(body)
		c.oids = append([]uint32(nil), m.ParameterOIDs...)
		return err
	case 'T':
		var m pgproto3.RowDescription
		err := m.Decode(bytes.Clone(body))
		c.fields = m.Fields
		return err
	case 'D':
		var m pgproto3.DataRow
		err := m.Decode(bytes.Clone(body))
		c.rows = append(c.rows, m.Values)
		return err
	}
	return nil
}

// Result is the answer to a private query.
type Result struct {
	Fields []pgproto3.FieldDescription
	Rows   [][][]byte // by row and column, nil for NULL, in the format asked for
}

func (c *capture) result() *Result { return &Result{Fields: c.fields, Rows: c.rows} }

// Description is the parameters and columns that Postgres resolves for a statement
// without running it.
type Description struct {
	ParamOIDs []uint32
	Fields    []pgproto3.FieldDescription // empty for a statement without rows
}

func (c *capture) description() *Description {
	return &Description{ParamOIDs: c.oids, Fields: c.fields}
}

// firstUserOID is where the OIDs of types begin that are not built in.
const firstUserOID = 16384

// same refuses a prepared statement that has other columns by now than when it was described,
// in the words of Postgres. A type of the user's that `dpproxy sync` has made anew is the same.
func (c *capture) same(now []pgproto3.FieldDescription) error {
	changed := len(now) != len(c.fields)
	for i := 0; i < len(now) && !changed; i++ {
		was, is := c.fields[i], now[i]
		builtIn := min(was.DataTypeOID, is.DataTypeOID) < firstUserOID
		changed = string(was.Name) != string(is.Name) || was.DataTypeOID != is.DataTypeOID && builtIn
	}
	if changed {
		return pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type")
	}
	return nil
}
