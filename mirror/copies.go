package mirror

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/quote"
	"dpproxy/mirror/steady"
)

// Copies compares the rows of public tables with the rows that Sync has copied to the mirror. It reads the mirror once: analysts can see
// when its tables are read, and later reads would come when the real database has answered.
type Copies struct {
	copies []copied
	seen   map[catalog.Name]compared
}

// A copied is a public table, with the columns that its copy has and the rows of that, "" if they could not be read.
type copied struct {
	*catalog.Table
	rows string
}

// A compared is how a table was when it was compared last: the version of its rows, "" if it has none.
type compared struct {
	version  string
	outdated bool
}

// NewCopies reads the copies of such tables of the real database, by their forms there. They stay as they are until the next Sync.
func NewCopies(ctx context.Context, mirror *pgx.Conn, tables []*catalog.Table) *Copies {
	c := &Copies{seen: map[catalog.Name]compared{}}
	for _, t := range tables {
		of := copied{Table: t}
		if there, err := copyOf(ctx, mirror, t); err == nil {
			of = there
		}
		c.copies = append(c.copies, of)
	}
	return c
}

func copyOf(ctx context.Context, mirror *pgx.Conn, t *catalog.Table) (c copied, err error) {
	err = pgx.BeginFunc(ctx, mirror, func(tx pgx.Tx) error {
		if _, err := tx.Conn().PgConn().Exec(ctx, introspect.PlainText).ReadAll(); err != nil {
			return err
		}
		there := *t
		if there.Columns, err = columnsThere(ctx, tx, t); err != nil {
			return err
		}
		rows, err := rowsOf(ctx, tx, &there)
		c = copied{&there, rows}
		return err
	})
	return c, err
}

// Outdated names the tables that have other rows now than the mirror has, or that cannot be compared. Rows are compared again only if they
// may have changed since they were compared last.
func (c *Copies) Outdated(ctx context.Context, data *pgx.Conn) (names []catalog.Name) {
	for _, t := range c.copies {
		now, err := c.compare(ctx, t, data)
		if err != nil {
			now = compared{outdated: true}
		}
		if c.seen[t.Name] = now; now.outdated {
			names = append(names, t.Name)
		}
	}
	return names
}

func (c *Copies) compare(ctx context.Context, t copied, data *pgx.Conn) (now compared, err error) {
	tx, err := steady.Open(ctx, data, []catalog.Name{t.Name})
	if err != nil {
		return now, err
	}
	defer tx.Rollback(ctx)
	var oid uint32
	var fingerprint string
	if err := tx.QueryRow(ctx, introspect.FingerprintOf(map[uint32]string{t.OID: t.Fingerprint})).Scan(&oid, &fingerprint); err != nil {
		return now, err
	}
	if fingerprint != t.Fingerprint {
		return now, fmt.Errorf("%v is another relation by now", t.Name)
	}
	if _, err := tx.Conn().PgConn().Exec(ctx, introspect.PlainText).ReadAll(); err != nil {
		return now, err
	}
	if now.version, err = version(ctx, tx, t.Table); err != nil {
		return now, err
	}
	if was := c.seen[t.Name]; now.version != "" && now.version == was.version {
		return was, nil
	}
	rows, err := rowsOf(ctx, tx, t.Table)
	now.outdated = rows != t.rows
	return now, err
}

// version tells of the rows of a table whether they have changed: how many there are, and the sum of the numbers of the transactions that
// wrote them, which grows with each row that takes the place of another. It is "" of a relation without such numbers, or whose role may not
// read them.
func version(ctx context.Context, tx pgx.Tx, t *catalog.Table) (text string, err error) {
	numbered := t.Kind == 'r' || t.Kind == 'p' || t.Kind == 'm'
	name := quote.Name(t.Name)
	if numbered {
		err = tx.QueryRow(ctx, "SELECT pg_catalog.has_table_privilege($1, 'SELECT')", name).Scan(&numbered)
	}
	if err != nil || !numbered {
		return "", err
	}
	var count, sum string
	err = tx.QueryRow(ctx, fmt.Sprintf("SELECT pg_catalog.count(*)::text, coalesce(pg_catalog.sum(xmin::text::bigint), 0)::text FROM %s%s",
		t.Only(), name)).Scan(&count, &sum)
	return count + "/" + sum, err
}

// columnsThere returns the columns of a table that its copy has.
func columnsThere(ctx context.Context, mirror pgx.Tx, t *catalog.Table) (columns []catalog.Column, err error) {
	rows, err := mirror.Query(ctx, `SELECT attname FROM pg_catalog.pg_attribute
		WHERE attrelid = $1::pg_catalog.text::pg_catalog.regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, quote.Name(t.Name))
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, n := range names {
		columns = append(columns, catalog.Column{Name: n})
	}
	return columns, err
}
