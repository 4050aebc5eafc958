package proxy

import "testing"

func TestRecent(t *testing.T) {
	r := newRecent[string, int](3, 100)
	held := func(name string, want ...string) {
		t.Helper()
		for _, key := range []string{"a", "b", "c", "d", "e"} {
			_, have := r.have[key]
			expected := false
			for _, w := range want {
				expected = expected || w == key
			}
			if have != expected {
				t.Errorf("%s: %q is there: %t", name, key, have)
			}
		}
	}
	r.add("a", 1, 30)
	r.add("b", 2, 30)
	r.add("b", 3, 70)
	held("two that fit", "a", "b")
	if v, ok := r.get("b"); !ok || v != 2 {
		t.Errorf("b is %d", v)
	}
	r.get("a")
	r.add("c", 4, 60)
	held("bytes push out what was used before the others", "a", "c")
	r.add("d", 5, 101)
	held("more than all may take", "a", "c")
	r.add("d", 5, 0)
	r.add("e", 6, 0)
	held("more than three", "c", "d", "e")
	if r.held != 60 {
		t.Errorf("%d bytes", r.held)
	}
}
