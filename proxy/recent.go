package proxy

import (
	"container/list"
	"sync"
)

// recent keeps the values that were used last, up to a number of them and of their bytes.
type recent[K comparable, V any] struct {
	entries int
	bytes   int

	mu    sync.Mutex
	have  map[K]*list.Element
	order *list.List // of *recentEntry[K, V], most recent first
	held  int        // bytes
}

type recentEntry[K comparable, V any] struct {
	key   K
	value V
	bytes int
}

func newRecent[K comparable, V any](entries, bytes int) *recent[K, V] {
	return &recent[K, V]{entries: entries, bytes: bytes, have: map[K]*list.Element{}, order: list.New()}
}

// get returns the value of a key.
func (r *recent[K, V]) get(key K) (value V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.have[key]
	if e == nil {
		return value, false
	}
	r.order.MoveToFront(e)
	return e.Value.(*recentEntry[K, V]).value, true
}

// take returns the value of a key, and keeps it no longer.
func (r *recent[K, V]) take(key K) (value V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.have[key]
	if e == nil {
		return value, false
	}
	kept := r.order.Remove(e).(*recentEntry[K, V])
	delete(r.have, key)
	r.held -= kept.bytes
	return kept.value, true
}

// add keeps a value that takes so many bytes, unless its key has one or it takes more than
// all may. The least recently used ones go.
func (r *recent[K, V]) add(key K, value V, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.have[key] != nil || bytes > r.bytes {
		return
	}
	r.have[key] = r.order.PushFront(&recentEntry[K, V]{key, value, bytes})
	r.held += bytes
	for r.order.Len() > r.entries || r.held > r.bytes {
		last := r.order.Remove(r.order.Back()).(*recentEntry[K, V])
		delete(r.have, last.key)
		r.held -= last.bytes
	}
}
