package mirror

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// On servers that no analyst reaches marks are kept in large objects, which every role can make that may log in, and which
// its owner and superusers alone read.

const (
	// firstMark is the number of the first large object, of markSlots.
	firstMark = 1685090162
	markSlots = 64
)

// markHead begins a large object with the mark of a ledger. Bytes behind the sealed ones are left from a longer one.
func markHead(ledger string, length int) []byte {
	return fmt.Appendf(nil, "dpproxy mark of %s %010d\n", ledger, length)
}

// parseMark is the inverse of markHead and the sealed bytes behind it. Whole is false for a damaged mark.
func parseMark(text []byte) (ledger string, sealed []byte, whole bool) {
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	var length int
	_, err := fmt.Sscanf(string(head), "dpproxy mark of %s %010d", &ledger, &length)
	if err != nil || length > len(rest) {
		return ledger, nil, false
	}
	return ledger, rest[:length], true
}

// ReadMark returns the mark that is kept for a ledger, nil if none is.
func ReadMark(ctx context.Context, conn *pgx.Conn, ledger string) ([]byte, error) {
	kept, _, err := marks(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	for _, text := range kept {
		of, sealed, whole := parseMark(text)
		switch {
		case of != ledger:
		case !whole:
			return nil, fmt.Errorf("mirror: the mark of the ledger %s is damaged", ledger)
		default:
			return sealed, nil
		}
	}
	return nil, nil
}

// OtherMarks returns the marks that are kept for all ledgers but one, by the ledger.
func OtherMarks(ctx context.Context, conn *pgx.Conn, ledger string) (map[string][]byte, error) {
	kept, _, err := marks(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	all := map[string][]byte{}
	for _, text := range kept {
		if of, sealed, whole := parseMark(text); whole && of != ledger {
			all[of] = sealed
		}
	}
	return all, nil
}

// RemoveMark has no mark kept for a ledger any more.
func RemoveMark(ctx context.Context, conn *pgx.Conn, ledger string) error {
	head := markHead(ledger, 0)
	head = head[:len(head)-len("0000000000\n")]
	_, err := conn.Exec(ctx, `SELECT pg_catalog.lo_unlink(m.oid) FROM pg_catalog.pg_largeobject_metadata m
		WHERE m.oid >= $1 AND m.oid < $2 AND pg_catalog.substr(pg_catalog.lo_get(m.oid), 1, $3) = $4`,
		uint32(firstMark), uint32(firstMark+markSlots), len(head), head)
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return nil
}

// marks returns the large objects of marks, and the number of one that there is not.
func marks(ctx context.Context, conn *pgx.Conn) (kept [][]byte, free uint32, err error) {
	rows, err := conn.Query(ctx, `SELECT m.oid, pg_catalog.lo_get(m.oid) FROM pg_catalog.pg_largeobject_metadata m
		WHERE m.oid >= $1 AND m.oid < $2 ORDER BY m.oid`, uint32(firstMark), uint32(firstMark+markSlots))
	if err != nil {
		return nil, 0, err
	}
	free = firstMark
	var oid uint32
	var text []byte
	_, err = pgx.ForEachRow(rows, []any{&oid, &text}, func() error {
		if oid == free {
			free++
		}
		kept = append(kept, bytes.Clone(text))
		return nil
	})
	return kept, free, err
}

// WriteMark replaces the mark that is kept for a ledger, nil for none, by a sealed one. Where another is kept it
// changes nothing, and done is false. Of two at one moment the later one may replace the other.
func WriteMark(ctx context.Context, conn *pgx.Conn, ledger string, old, sealed []byte) (done bool, err error) {
	next := append(markHead(ledger, len(sealed)), sealed...)
	if old == nil {
		return firstWrite(ctx, conn, ledger, next)
	}
	was := append(markHead(ledger, len(old)), old...)
	tag, err := conn.Exec(ctx, `SELECT pg_catalog.lo_put(m.oid, 0, $1) FROM pg_catalog.pg_largeobject_metadata m
		WHERE m.oid >= $2 AND m.oid < $3 AND pg_catalog.substr(pg_catalog.lo_get(m.oid), 1, $4) = $5`,
		next, uint32(firstMark), uint32(firstMark+markSlots), len(was), was)
	if err != nil {
		return false, fmt.Errorf("mirror: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// firstWrite makes the large object of a ledger that has none.
func firstWrite(ctx context.Context, conn *pgx.Conn, ledger string, next []byte) (done bool, err error) {
	kept, err := ReadMark(ctx, conn, ledger)
	if err != nil || kept != nil {
		return false, err
	}
	_, free, err := marks(ctx, conn)
	if err == nil && free == firstMark+markSlots {
		err = fmt.Errorf("there are marks of %d ledgers: remove those of ledgers that are no more, lo_unlink(%d) and so on",
			markSlots, firstMark)
	}
	if err == nil {
		_, err = conn.Exec(ctx, "SELECT pg_catalog.lo_from_bytea($1, $2)", free, next)
	}
	if err != nil {
		return false, fmt.Errorf("mirror: %w", err)
	}
	return true, nil
}
