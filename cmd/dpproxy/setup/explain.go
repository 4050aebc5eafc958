package setup

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/listing"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/mirror/steady"
	"dpproxy/planner/policy"
)

// explain says how the policy limits answers, and how it could state contributions otherwise. It is the
// administrator's: that there are few rows is nothing for analysts.
func explain(ctx context.Context, s *site.Site, conn *pgx.Conn, cat *policy.Model) error {
	if err := explainEffects(s, cat); err != nil {
		return err
	}
	rows, err := fewRows(ctx, conn, cat)
	if err != nil {
		return err
	}
	if advice := s.Annotate(cat.Advice(rows)); advice != nil {
		fmt.Println(advice)
	}
	return nil
}

// fewRows counts the rows of protected tables, up to [policy.FewUnits].
func fewRows(ctx context.Context, conn *pgx.Conn, cat *policy.Model) (map[catalog.Name]int64, error) {
	tx, err := steady.Open(ctx, conn, cat.Protected())
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx)
	rows := map[catalog.Name]int64{}
	for _, n := range cat.Protected() {
		t, count := cat.Table(n), int64(0)
		if t.Reference { // its limits are those of the rows that refer to it
			continue
		}
		sql := "SELECT count(*) FROM (SELECT FROM " + t.Source.Only() + t.SQL() + " LIMIT $1) AS r"
		if err := tx.QueryRow(ctx, sql, policy.FewUnits).Scan(&count); err != nil {
			return nil, fmt.Errorf("counting whether %v has few rows: %w", n, err)
		}
		rows[n] = count
	}
	return rows, nil
}

func printLines(lines []string) {
	for _, line := range lines {
		fmt.Println(line)
	}
}

// explainEffects says for each table how much one unit can add, and how far its count and its sums are off. A
// partition is as its table.
func explainEffects(s *site.Site, cat *policy.Model) error {
	e, chosen := effects{s.Policy, cat}, false
	fmt.Printf("\nAt epsilon 0.1, asked for alone and without groups:\n")
	for _, n := range cat.Protected() {
		if _, partition := s.Policy.PartitionOf[n]; partition {
			continue
		}
		fmt.Printf("\n%v\n", n)
		if cat.Table(n).Reference {
			by := strings.Join(policy.LookedUpBy(cat, cat.Table(n)), ", ")
			fmt.Printf("a reference table: its rows count as those that refer to them, by %s\n", by)
			printLines(boundsOf(cat.Table(n)))
			continue
		}
		rows := e.rows(cat.Table(n))
		if ends := cat.Table(n).LeftOut(); ends != "" {
			fmt.Printf("without rows that belong to no %s: %s\n", cat.Unit(), ends)
		}
		if counted := policy.Counted(cat.Table(n)); counted != "" {
			fmt.Printf("with rows that belong to no %s: %s\n", cat.Unit(), counted)
		}
		if err := listing.Table(rows...); err != nil {
			return err
		}
		printLines(boundsOf(cat.Table(n)))
		printLines(e.groups(cat.Table(n)))
		for _, r := range rows {
			chosen = chosen || strings.HasSuffix(r[2], " C")
		}
	}
	if chosen {
		fmt.Printf("\nC is a limit that each statement chooses, with a part of its epsilon, such that it leaves out little.\n")
	}
	fmt.Println()
	return nil
}
