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

// Copies compares the rows of public tables with the rows that Sync has copied to the mirror.
type Copies struct {
	tables []*catalog.Table
	seen   map[catalog.Name]compared
}

// A compared is how a table was when it was compared last: the versions of its rows on both sides, "" if they are not known.
type compared struct {
	versions [2]string
	outdated bool
}

// NewCopies compares such tables of the real database, by their forms there.
func NewCopies(tables []*catalog.Table) *Copies {
	return &Copies{tables, map[catalog.Name]compared{}}
}

// Outdated names the tables that have other rows now than the mirror has, or that cannot be compared. Rows are compared again only if they
// may have changed since they were compared last.
func (c *Copies) Outdated(ctx context.Context, data, mirror *pgx.Conn) (names []catalog.Name) {
	for _, t := range c.tables {
		now, err := c.compare(ctx, t, data, mirror)
		if err != nil {
			now = compared{outdated: true}
		}
		if c.seen[t.Name] = now; now.outdated {
			names = append(names, t.Name)
		}
	}
	return names
}

func (c *Copies) compare(ctx context.Context, t *catalog.Table, data, mirror *pgx.Conn) (now compared, err error) {
	from, err := steady.Open(ctx, data, []catalog.Name{t.Name})
	if err != nil {
		return now, err
	}
	defer from.Rollback(ctx)
	var oid uint32
	var fingerprint string
	if err := from.QueryRow(ctx, introspect.FingerprintOf(map[uint32]string{t.OID: t.Fingerprint})).Scan(&oid, &fingerprint); err != nil {
		return now, err
	}
	if fingerprint != t.Fingerprint {
		return now, fmt.Errorf("%v is another relation by now", t.Name)
	}
	to, err := mirror.Begin(ctx)
	if err != nil {
		return now, err
	}
	defer to.Rollback(ctx)
	for i, tx := range []pgx.Tx{from, to} {
		if _, err := tx.Conn().PgConn().Exec(ctx, introspect.PlainText).ReadAll(); err != nil {
			return now, err
		}
		if now.versions[i], err = version(ctx, tx, t, i == 1); err != nil {
			return now, err
		}
	}
	if was := c.seen[t.Name]; now.versions[0] != "" && now.versions[1] != "" && now.versions == was.versions {
		return was, nil
	}
	copied := *t
	if copied.Columns, err = columnsThere(ctx, to, t); err != nil {
		return now, err
	}
	same, err := sameRows(ctx, from, to, &copied)
	now.outdated = !same
	return now, err
}

// version tells of the rows of a table whether they have changed: how many there are, and the sum of the numbers of the transactions that
// wrote them, which grows with each row that takes the place of another. It is "" of a relation without such numbers, or whose role may not
// read them.
func version(ctx context.Context, tx pgx.Tx, t *catalog.Table, copied bool) (text string, err error) {
	numbered := copied || t.Kind == 'r' || t.Kind == 'p' || t.Kind == 'm'
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
