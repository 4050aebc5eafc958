package site

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/planner/policy"
	"dpproxy/proxy/reader"
)

// OpenData opens sessions for reads of the protected database.
func (s *Site) OpenData(ctx context.Context, cat *policy.Model) (*reader.Data, error) {
	cfg, err := pgxpool.ParseConfig(s.Policy.Data)
	if err != nil {
		return nil, fmt.Errorf("connection to the protected database: %w", err)
	}
	p, err := DataPassword(s.Policy).Read()
	if err != nil {
		return nil, err
	}
	if p != "" {
		cfg.ConnConfig.Password = p
	}
	cfg.MaxConns = int32(s.Policy.Limits.DataConnections)
	cfg.ConnConfig.ConnectTimeout = ConnectTimeout
	// dpproxy ends reads itself, at a point of the reply grid that is not that much later. Without it the server does.
	late := 3*s.Policy.Limits.StatementTimeout + s.Policy.Limits.ReplyGrid
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = fmt.Sprint(late.Milliseconds())
	data, err := reader.Open(ctx, cfg, cat, s.Secret)
	if err != nil {
		return nil, err
	}
	if err := data.Ping(ctx); err != nil {
		data.Close()
		return nil, fmt.Errorf("connecting to the protected database: %w", Unpooled(DataPassword(s.Policy).Told(err)))
	}
	return data, nil
}
