package mirror

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/mirror/quote"
)

// On the mirror marks are kept in files of the server: COPY to a file has no transaction number and writes nothing to the log, so that
// analysts, who can count both, see nothing of it. Two files take turns, so that one is always whole.

const markPrefix = "dpproxy_mark_"

// markFiles are the names of a ledger's files in the folder of the server's data.
func markFiles(ledger string) [2]string {
	name := markPrefix + hex.EncodeToString([]byte(ledger))
	return [2]string{name + ".a", name + ".b"}
}

// markedLedger is the inverse of markFiles: the ledger of a file's name.
func markedLedger(name string) (ledger string, ok bool) {
	number, ok := strings.CutPrefix(strings.TrimSuffix(strings.TrimSuffix(name, ".a"), ".b"), markPrefix)
	text, err := hex.DecodeString(number)
	return string(text), ok && err == nil
}

// A markFile is the content of one of the files; the later one has the larger number.
type markFile struct {
	number uint64
	sealed []byte
}

// parseMarkFile reads a file. One that is cut off has no mark.
func parseMarkFile(text []byte) (f markFile, whole bool) {
	var mark string
	if _, err := fmt.Sscanf(string(text), "%d %s end", &f.number, &mark); err != nil || !bytes.HasSuffix(text, []byte(" end\n")) {
		return f, false
	}
	sealed, err := hex.DecodeString(mark)
	f.sealed = sealed
	return f, err == nil
}

// latestMark returns the later of a ledger's two files, and the name of the other.
func latestMark(ctx context.Context, conn *pgx.Conn, ledger string) (latest *markFile, other string, err error) {
	names := markFiles(ledger)
	other = names[0]
	for i, name := range names {
		var text []byte
		if err := conn.QueryRow(ctx, "SELECT pg_catalog.pg_read_binary_file($1, 0, 1 << 28, true)", name).Scan(&text); err != nil {
			return nil, "", fmt.Errorf("mirror: %w", err)
		}
		if f, whole := parseMarkFile(text); whole && (latest == nil || f.number > latest.number) {
			latest, other = &f, names[1-i]
		}
	}
	return latest, other, nil
}

// ReadMarkFile returns the mark that the mirror keeps for a ledger, nil if it keeps none.
func ReadMarkFile(ctx context.Context, conn *pgx.Conn, ledger string) ([]byte, error) {
	latest, _, err := latestMark(ctx, conn, ledger)
	if err != nil || latest == nil {
		return nil, err
	}
	return latest.sealed, nil
}

// WriteMarkFile replaces the mark that the mirror keeps for a ledger, nil for none, by a sealed one. Where another is kept it
// changes nothing, and done is false. Of two at one moment the later one may replace the other.
func WriteMarkFile(ctx context.Context, conn *pgx.Conn, ledger string, old, sealed []byte) (done bool, err error) {
	latest, other, err := latestMark(ctx, conn, ledger)
	if err != nil {
		return false, err
	}
	next := uint64(1)
	if latest != nil {
		next = latest.number + 1
	}
	if (latest == nil) != (old == nil) || latest != nil && !bytes.Equal(latest.sealed, old) {
		return false, nil
	}
	return true, writeMarkFile(ctx, conn, other, fmt.Sprintf("%020d %x end", next, sealed))
}

// writeMarkFile replaces one of the files by a line.
func writeMarkFile(ctx context.Context, conn *pgx.Conn, name, line string) error {
	var folder string
	if err := conn.QueryRow(ctx, "SELECT pg_catalog.current_setting('data_directory')").Scan(&folder); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	if _, err := conn.Exec(ctx, "COPY (SELECT "+quote.Literal(line)+") TO "+quote.Literal(folder+"/"+name)); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return nil
}

// OtherMarkFiles returns the marks that the mirror keeps for all ledgers but one, by the ledger.
func OtherMarkFiles(ctx context.Context, conn *pgx.Conn, ledger string) (map[string][]byte, error) {
	rows, err := conn.Query(ctx, "SELECT f FROM pg_catalog.pg_ls_dir('.') f WHERE pg_catalog.starts_with(f, $1)", markPrefix)
	if err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		other, ok := markedLedger(name)
		if !ok || other == ledger || all[other] != nil {
			continue
		}
		sealed, err := ReadMarkFile(ctx, conn, other)
		if err != nil {
			return nil, err
		}
		if sealed != nil {
			all[other] = sealed
		}
	}
	return all, nil
}

// RemoveMarkFile has the mirror keep no mark for a ledger any more: SQL deletes no file, so both are emptied.
func RemoveMarkFile(ctx context.Context, conn *pgx.Conn, ledger string) error {
	for _, name := range markFiles(ledger) {
		if err := writeMarkFile(ctx, conn, name, "removed"); err != nil {
			return err
		}
	}
	return nil
}
