package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/planner/policy"
	"dpproxy/proxy/reader"
)

// openData opens sessions for reads of the protected database.
func (s *site) openData(ctx context.Context, cat *policy.Model) (*reader.Data, error) {
	cfg, err := pgxpool.ParseConfig(s.policy.Data)
	if err != nil {
		return nil, fmt.Errorf("connection to the protected database: %w", err)
	}
	p, err := dataPassword(s.policy).read()
	if err != nil {
		return nil, err
	}
	if p != "" {
		cfg.ConnConfig.Password = p
	}
	cfg.MaxConns = int32(s.policy.Limits.DataConnections)
	cfg.ConnConfig.ConnectTimeout = connectTimeout
	// dpproxy ends reads itself, at a point of the reply grid that is not that much later. Without it the server does.
	late := 3*s.policy.Limits.StatementTimeout + s.policy.Limits.ReplyGrid
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = fmt.Sprint(late.Milliseconds())
	data, err := reader.Open(ctx, cfg, cat, s.secret)
	if err != nil {
		return nil, err
	}
	if err := data.Ping(ctx); err != nil {
		data.Close()
		return nil, fmt.Errorf("connecting to the protected database: %w", unpooled(dataPassword(s.policy).told(err)))
	}
	return data, nil
}
