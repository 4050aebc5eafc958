package brdp

import "sync"

// cacheSize is how many results a cache keeps.
const cacheSize = 1024

// A cache remembers results that were expensive. It is safe for concurrent use;
// the zero cache is empty. When it is full it forgets everything.
type cache[K comparable, V any] struct {
	mu    sync.RWMutex
	known map[K]V
}

// get returns the value known for key, or the one that find returns for it. It
// does not remember errors. Two goroutines that miss at once both search.
func (c *cache[K, V]) get(key K, find func() (V, error)) (V, error) {
	c.mu.RLock()
	v, ok := c.known[key]
	c.mu.RUnlock()
	if ok {
		return v, nil
	}
	v, err := find()
	if err != nil {
		return v, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= cacheSize {
		c.known = make(map[K]V)
	}
	c.known[key] = v
	return v, nil
}
