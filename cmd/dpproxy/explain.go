package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// explain says what the policy could state otherwise about contributions. It is the administrator's:
// that there are few rows is nothing for analysts.
func (s *site) explain(ctx context.Context, conn *pgx.Conn, cat *policy.Model) error {
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
