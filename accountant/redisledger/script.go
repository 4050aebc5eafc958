package redisledger

import (
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"dpproxy/accountant/history"
)

//go:embed append.lua
var appendSource string

var appendScript = redis.NewScript(appendSource)

// The fields of a ledger's hash.
const (
	idField   = "id"
	seqField  = "seq"
	headField = "head"
	linePart  = "x:" // and the number of the line
)

const (
	// maxBatch is how many lines one call appends, and maxLines how many missed
	// ones it returns; a script can unpack some 8,000 values.
	maxBatch = 512
	maxLines = 2048
	// maxBytes is how many bytes one call appends at most, but for a single line.
	maxBytes = 8 << 20
)

// A DivergedError says that Redis does not continue the ledger that this proxy
// has seen. Nothing may be released until an operator has repaired it.
type DivergedError struct{ Reason string }

// Error implements error.
func (e *DivergedError) Error() string { return "redisledger: the ledger in Redis " + e.Reason }

// errReplicas is wrapped where too few replicas have acknowledged an entry.
var errReplicas = errors.New("redisledger: too few replicas have the entry")

// A position is the last line that a proxy knows.
type position struct {
	seq  uint64
	head history.Hash
}

// append appends lines behind a position. Where Redis has more lines already it
// returns them, at least one, and has appended nothing.
func (s *server) append(ctx context.Context, at position, lines [][]byte, head history.Hash) (missed [][]byte, err error) {
	args := []any{s.id, strconv.FormatUint(at.seq, 10), hex.EncodeToString(at.head[:]), hex.EncodeToString(head[:]), maxLines}
	for _, line := range lines {
		args = append(args, line)
	}
	reply, acks, err := s.run(ctx, args, len(lines) > 0)
	if err != nil {
		return nil, err
	}
	status, rest, err := parseReply(reply)
	if err != nil {
		return nil, err
	}
	switch status {
	case "OK":
		if len(lines) > 0 && acks < int64(s.replicas) {
			return nil, fmt.Errorf("%w: %d of %d", errReplicas, acks, s.replicas)
		}
		return nil, nil
	case "BEHIND":
		return rest, nil
	}
	return nil, diverged(status, rest, at)
}

// diverged explains a reply that no honest ledger gives.
func diverged(status string, rest [][]byte, at position) error {
	detail := ""
	if len(rest) > 0 {
		detail = string(rest[0])
	}
	switch status {
	case "EMPTY":
		return &DivergedError{"is gone"}
	case "OTHER":
		return &DivergedError{"is another one, " + detail}
	case "BACKWARDS":
		return &DivergedError{fmt.Sprintf("went backwards: it ends with entry %s, and entry %d was acknowledged", detail, at.seq)}
	case "FORKED":
		return &DivergedError{fmt.Sprintf("continues another history: its entry %d is not the one that was acknowledged", at.seq)}
	}
	return fmt.Errorf("redisledger: an unknown reply %q", status)
}

// run runs the script, and waits for replicas behind a write.
func (s *server) run(ctx context.Context, args []any, write bool) (reply any, acks int64, err error) {
	reply, acks, err = s.pipeline(ctx, args, write, appendScript.EvalSha)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		return s.pipeline(ctx, args, write, appendScript.Eval)
	}
	return reply, acks, err
}

type eval func(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd

func (s *server) pipeline(ctx context.Context, args []any, write bool, eval eval) (any, int64, error) {
	if !write || s.replicas == 0 {
		reply, err := eval(ctx, s.client, []string{s.key}, args...).Result()
		return reply, 0, err
	}
	pipe := s.client.Pipeline()
	cmd := eval(ctx, pipe, []string{s.key}, args...)
	// A quarter, so that the patience lasts for the call that finds the entry again.
	wait := pipe.Do(ctx, "WAIT", s.replicas, s.patience.Milliseconds()/4)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, 0, err
	}
	acks, err := wait.Int64()
	return cmd.Val(), acks, err
}

// parseReply splits a reply into its status and the rest.
func parseReply(reply any) (status string, rest [][]byte, err error) {
	list, ok := reply.([]any)
	if !ok || len(list) == 0 {
		return "", nil, fmt.Errorf("redisledger: a reply of type %T", reply)
	}
	for _, v := range list {
		text, ok := v.(string)
		if !ok {
			return "", nil, &DivergedError{"has a gap"}
		}
		rest = append(rest, []byte(text))
	}
	return string(rest[0]), rest[1:], nil
}

// headOf returns the hash of a line.
func (s *server) headOf(ctx context.Context, seq uint64) (history.Hash, error) {
	line, err := s.client.HGet(ctx, s.key, linePart+strconv.FormatUint(seq, 10)).Bytes()
	if errors.Is(err, redis.Nil) {
		return history.Hash{}, history.ErrNoEntry
	}
	return history.Record{Line: line}.Hash(), err
}
