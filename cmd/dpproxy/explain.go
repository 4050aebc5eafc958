package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// explain says how the policy limits answers, and how it could state contributions otherwise. It is the
// administrator's: that there are few rows is nothing for analysts.
func (s *site) explain(ctx context.Context, conn *pgx.Conn, cat *policy.Model) error {
	if err := s.explainEffects(cat); err != nil {
		return err
	}
	rows := map[catalog.Name]int64{}
	for _, n := range cat.Protected() {
		count := int64(0)
		err := conn.QueryRow(ctx, "SELECT count(*) FROM (SELECT FROM "+cat.Table(n).SQL()+" LIMIT $1) AS r", policy.FewUnits).Scan(&count)
		if err != nil {
			return fmt.Errorf("counting whether %v has few rows: %w", n, err)
		}
		rows[n] = count
	}
	for _, a := range cat.Advice(rows) {
		fmt.Println(s.policy.Annotate(a.Path, a.Message))
	}
	return nil
}

// explainEffects says for each table how much one unit can add, and how far its count and its sums are off. A
// partition is as its table.
func (s *site) explainEffects(cat *policy.Model) error {
	e, chosen := effects{s.policy, cat}, false
	fmt.Printf("\nAt epsilon 0.1, asked for alone and without groups:\n")
	for _, n := range cat.Protected() {
		if _, partition := s.policy.PartitionOf[n]; partition {
			continue
		}
		rows := e.rows(cat.Table(n))
		fmt.Printf("\n%v\n", n)
		if ends := cat.Table(n).Nobody(); ends != "" {
			fmt.Printf("without rows that belong to no %s: %s\n", cat.Unit(), ends)
		}
		if err := table(rows...); err != nil {
			return err
		}
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

// withoutUnit says of each protected table which of its rows are left out, since they belong to nobody.
func withoutUnit(cat *policy.Model) (lines []string) {
	for _, n := range cat.Protected() {
		t := cat.Table(n)
		if ends := t.Nobody(); ends != "" && cat.Whole(t) == t {
			lines = append(lines, fmt.Sprintf("%v: rows that belong to no %s (%s) are left out of every answer", n, cat.Unit(), ends))
		}
	}
	return lines
}
