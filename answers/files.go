package answers

import (
	"cmp"
	"container/list"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Files is a Store in a folder. Each answer is a file, which is replaced whole. Only one process at a time may have it open, which the
// ledger's lock ensures.
type Files struct {
	dir  string
	keep int

	mu     sync.Mutex
	recent *list.List // of Key, the latest used first
	at     map[Key]*list.Element
}

var _ Store = (*Files)(nil)

const (
	suffix  = ".answer"
	partial = ".new" // until a file is complete
)

// OpenFiles opens a folder, in which it keeps at most keep answers. It makes the folder if there is none.
func OpenFiles(dir string, keep int) (*Files, error) {
	if keep < 1 {
		return nil, fmt.Errorf("answers: cannot keep %d", keep)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	f := &Files{dir: dir, keep: keep, recent: list.New(), at: map[Key]*list.Element{}}
	return f, f.load()
}

// load lists the answers in the folder, the latest changed first.
func (f *Files) load() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	type found struct {
		key  Key
		time time.Time
	}
	var all []found
	for _, e := range entries {
		key, ok := keyOfName(e.Name())
		info, err := e.Info()
		if !ok || err != nil {
			continue
		}
		all = append(all, found{key, info.ModTime()})
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(b.time.UnixNano(), a.time.UnixNano()) })
	for _, a := range all {
		f.at[a.key] = f.recent.PushBack(a.key)
	}
	return f.evict()
}

func keyOfName(name string) (key Key, ok bool) {
	text, isAnswer := strings.CutSuffix(name, suffix)
	b, err := hex.DecodeString(text)
	if !isAnswer || err != nil || len(b) != len(key) {
		return key, false
	}
	return Key(b), true
}

func (f *Files) path(key Key) string { return filepath.Join(f.dir, key.String()+suffix) }

// The content of a file.
type fileJSON struct {
	Answer json.RawMessage `json:"answer"`
	Paid   []string        `json:"paid"`
	CRC    uint32          `json:"crc"` // of the answer and of the analysts who have paid
}

func checksum(body []byte, paid []string) uint32 {
	return crc32.ChecksumIEEE([]byte(string(body) + "|" + strings.Join(paid, "|")))
}

// Get implements Store.
func (f *Files) Get(_ context.Context, key Key) (*Release, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.get(key)
}

func (f *Files) get(key Key) (*Release, error) {
	e, ok := f.at[key]
	if !ok {
		return nil, nil
	}
	a, err := f.read(key)
	if errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, f.forget(e))
	}
	if err != nil {
		return nil, err
	}
	f.recent.MoveToFront(e)
	return a, nil
}

func (f *Files) read(key Key) (*Release, error) {
	text, err := os.ReadFile(f.path(key))
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	var j fileJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if checksum(j.Answer, j.Paid) != j.CRC {
		return nil, errDamaged
	}
	a, err := decode(j.Answer)
	if err != nil {
		return nil, err
	}
	a.Paid = j.Paid
	return a, nil
}

// Put implements Store.
func (f *Files) Put(_ context.Context, key Key, a Release) (earlier *Release, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.at[key]; ok {
		return f.get(key)
	}
	if err := f.write(key, &a); err != nil {
		return nil, err
	}
	f.at[key] = f.recent.PushFront(key)
	return nil, f.evict()
}

// Claim implements Store: no other process draws the releases that are remembered here.
func (f *Files) Claim(_ context.Context, keys []Key) (Claim, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range keys {
		if _, ok := f.at[key]; ok {
			return nil, ErrReleased
		}
	}
	return ownClaim{}, nil
}

// Pay implements Store.
func (f *Files) Pay(_ context.Context, key Key, a *Release, analyst string) error {
	paid, err := encode(a)
	if err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	there, err := f.get(key)
	if err != nil || there == nil || there.PaidBy(analyst) {
		return err
	}
	if body, err := encode(there); err != nil || digest(body) != digest(paid) {
		return err
	}
	there.Paid = append(there.Paid, analyst)
	return f.write(key, there)
}

func (f *Files) write(key Key, a *Release) error {
	body, err := encode(a)
	if err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	text, err := json.Marshal(fileJSON{body, a.Paid, checksum(body, a.Paid)})
	if err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	name := f.path(key)
	if err := os.WriteFile(name+partial, text, 0o600); err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	return os.Rename(name+partial, name)
}

// evict forgets the answers that were used longest ago, until at most keep are left.
func (f *Files) evict() error {
	var errs []error
	for f.recent.Len() > f.keep {
		errs = append(errs, f.forget(f.recent.Back()))
	}
	return errors.Join(errs...)
}

func (f *Files) forget(e *list.Element) error {
	key, _ := f.recent.Remove(e).(Key)
	delete(f.at, key)
	if err := os.Remove(f.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close implements Store.
func (f *Files) Close() error { return nil }
