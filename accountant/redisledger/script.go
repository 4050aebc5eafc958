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
	args := []any{s.id, strconv.FormatUint(at.seq, 10), hex.EncodeToString(at.head[:]), hex.EncodeToString(head[:]), maxLines, s.replicas}
	for _, line := range lines {
		args = append(args, line)
	}
	write := len(lines) > 0
	if write && s.doubt != nil {
		if err := s.check(ctx); err != nil {
			return nil, err
		}
	}
	r, err := s.run(ctx, args, write)
	if err != nil {
		if write && s.replicas > 0 {
			s.doubt = errReplicas
		}
		return nil, err
	}
	status, rest, err := parseReply(r.reply)
	if err != nil {
		return nil, err
	}
	switch status {
	case "OK":
		if !write {
			return nil, nil
		}
		s.doubt = s.acknowledged(r)
		return nil, s.doubt
	case "REPLICAS":
		return nil, fmt.Errorf("%w: %s of %d can be reached, and nothing was appended", errReplicas, rest[0], s.replicas)
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

// replied is what the server says to a call of the script.
type replied struct {
	reply any
	// Of a write: how many replicas have it, and the settings of the server after it.
	acks     int64
	settings settings
}

// acknowledged returns nil if the entries that the server has appended are durable: replicas have them, and the server still
// had the required settings after it had synced them.
func (s *server) acknowledged(r replied) error {
	if r.acks < int64(s.replicas) {
		return fmt.Errorf("%w: %d of %d", errReplicas, r.acks, s.replicas)
	}
	return undurable(r.settings.bad(s.asserted))
}

// run runs the script, and behind a write waits for replicas and asks for the settings.
func (s *server) run(ctx context.Context, args []any, write bool) (replied, error) {
	r, err := s.pipeline(ctx, args, write, appendScript.EvalSha)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		return s.pipeline(ctx, args, write, appendScript.Eval)
	}
	return r, err
}

type eval func(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd

func (s *server) pipeline(ctx context.Context, args []any, write bool, eval eval) (replied, error) {
	if !write {
		reply, err := eval(ctx, s.client, []string{s.key}, args...).Result()
		return replied{reply: reply}, err
	}
	var r replied
	pipe := s.client.Pipeline()
	cmd := eval(ctx, pipe, []string{s.key}, args...)
	var wait *redis.Cmd
	if s.replicas > 0 {
		// A quarter, so that the patience lasts for the call that finds the entry again.
		wait = pipe.Do(ctx, "WAIT", s.replicas, s.patience.Milliseconds()/4)
	}
	r.settings = askSettings(ctx, pipe)
	_, failed := pipe.Exec(ctx)
	reply, err := cmd.Result()
	if err != nil {
		return r, err
	}
	r.reply = reply
	if wait != nil {
		if r.acks, err = wait.Int64(); err != nil {
			return r, err
		}
	}
	for _, c := range r.settings {
		if err := c.Err(); err != nil && !isReply(err) {
			return r, failed // the connection ended before the settings were told
		}
	}
	return r, nil
}

// isReply reports whether an error is a refusal of the server, and not of the way to it.
func isReply(err error) bool {
	_, is := errors.AsType[redis.Error](err)
	return is
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
