package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"dpproxy/cmd/dpproxy/listing"
)

// beside prints the answers of a conversation again, each with the truth next to it. It reads the truth from the protected database, with
// the password of the database's own superuser. The answers cost nothing: dpproxy remembers them.
type beside struct {
	answers, truth *pgx.Conn
	notices        []string // of the last answer
}

const besideTitle = `
The truth beside the answers, read from the database itself, as a demonstration. Nobody else can see it:
dpproxy shows it to no analyst, and here it took the password of the database's own superuser.
`

// printBeside compares the answers of the statements with the truth.
func printBeside(ctx context.Context, proxy, database, conversation string) error {
	var b beside
	config, err := pgx.ParseConfig(proxy)
	if err != nil {
		return err
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { b.notices = append(b.notices, n.Message) }
	if b.answers, err = pgx.ConnectConfig(ctx, config); err != nil {
		return err
	}
	defer b.answers.Close(ctx)
	if b.truth, err = pgx.Connect(ctx, database); err != nil {
		return err
	}
	defer b.truth.Close(ctx)
	fmt.Print(besideTitle)
	for _, sql := range statements(conversation) {
		if err := b.compare(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// statements splits a script for psql, without its commands and comments.
func statements(script string) []string {
	var text strings.Builder
	for line := range strings.Lines(script) {
		if !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, `\`) {
			text.WriteString(line)
		}
	}
	var out []string
	for sql := range strings.SplitSeq(text.String(), ";") {
		if sql = strings.Join(strings.Fields(sql), " "); sql != "" {
			out = append(out, sql)
		}
	}
	return out
}

// compare prints one statement, if it was answered and has a truth.
func (b *beside) compare(ctx context.Context, sql string) error {
	b.notices = nil
	answer, err := ask(ctx, b.answers, sql)
	if _, refused := errors.AsType[*pgconn.PgError](err); err != nil && !refused {
		return err
	}
	if len(b.notices) == 0 {
		return nil // refused, a setting, or nothing about protected rows
	}
	whole, _, _ := strings.Cut(sql, " LIMIT ") // other rows may come first in the truth
	truth, err := ask(ctx, b.truth, whole)
	if err != nil {
		return err
	}
	b.notices[0], _, _ = strings.Cut(b.notices[0], "; cost ")
	fmt.Printf("\n%s;\n%s\n", sql, strings.Join(b.notices, "\n"))
	return listing.Table(answer.beside(truth)...)
}

// A reply has the rows of one statement as text. The key of a row is every cell that is not a number.
type reply struct {
	columns []string
	numbers []bool
	rows    [][]string
}

func ask(ctx context.Context, conn *pgx.Conn, sql string) (r reply, err error) {
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil || len(results) == 0 {
		return r, err
	}
	for _, f := range results[0].FieldDescriptions {
		r.columns = append(r.columns, f.Name)
		switch f.DataTypeOID {
		case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.NumericOID, pgtype.Float4OID, pgtype.Float8OID:
			r.numbers = append(r.numbers, true)
		default:
			r.numbers = append(r.numbers, false)
		}
	}
	for _, row := range results[0].Rows {
		var texts []string
		for _, cell := range row {
			texts = append(texts, shown(cell))
		}
		r.rows = append(r.rows, texts)
	}
	return r, nil
}

func shown(cell []byte) string {
	if cell == nil {
		return "NULL"
	}
	return string(cell)
}

// key returns the key by which a row is found in the truth.
func (r reply) key(row []string) string {
	var key []string
	for i, cell := range row {
		if !r.numbers[i] {
			key = append(key, cell)
		}
	}
	return strings.Join(key, "\x00")
}

// beside returns the rows with the true number after each number, or a dash if the truth has no such row.
func (r reply) beside(truth reply) [][]string {
	exact := map[string][]string{}
	for _, row := range truth.rows {
		exact[truth.key(row)] = row
	}
	var head []string
	for i, name := range r.columns {
		if head = append(head, name); r.numbers[i] {
			head = append(head, "truth")
		}
	}
	out := [][]string{head}
	for _, row := range r.rows {
		var cells []string
		for i, cell := range row {
			if cells = append(cells, cell); r.numbers[i] {
				cells = append(cells, exactCell(exact[r.key(row)], i))
			}
		}
		out = append(out, cells)
	}
	return out
}

func exactCell(row []string, i int) string {
	if row == nil {
		return "-"
	}
	return row[i]
}
