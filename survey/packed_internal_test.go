package survey

import (
	"errors"
	"math/rand/v2"
	"testing"

	"dpproxy/accountant/realized"
)

// TestSets keeps sets of as many values as fill bytes, and one more and less.
func TestSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{2, 7, 8, 9, 15, 16, 17, 1000} {
		const objects = 50
		p, err := newPacked(Set, k, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := map[int64]realized.Answer{}
		for i := int64(0); i < objects; i += 1 + rng.Int64N(3) {
			if err := p.grow(i + 1); err != nil {
				t.Fatal(err)
			}
			answer := realized.Answer{Bits: make([]byte, (k+7)/8)}
			for v := range k {
				answer.Bits[v/8] |= byte(rng.IntN(2)) << (v % 8)
			}
			p.set(i, answer)
			want[i] = answer
		}
		if err := p.grow(objects); err != nil {
			t.Fatal(err)
		}
		again, err := unpack(Set, k, objects, p.data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(objects) {
			answer, ok := want[i]
			got := again.answer(i)
			if again.asked(i) != ok || (got.Value == realized.Unasked) == ok || string(got.Bits) != string(answer.Bits) {
				t.Fatalf("of %d values object %d has %v, want %v", k, i, got, answer)
			}
		}
		for i := range int64(objects) { // a value in a set that was not given
			if _, ok := want[i]; !ok {
				p.data[i*p.stride()] |= 1
				if _, err := unpack(Set, k, objects, p.data); err == nil {
					t.Fatalf("of %d values object %d has an answer that was not given", k, i)
				}
				p.data[i*p.stride()] &^= 1
			}
		}
		if k%8 != 7 {
			p.data[len(p.data)-1] |= 0x80
			if _, err := unpack(Set, k, objects, p.data); err == nil {
				t.Fatalf("of %d values there is one more", k)
			}
		}
	}
	p, err := newPacked(Set, 1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.grow(10_000_000); !errors.Is(err, ErrRoom) {
		t.Errorf("10,000,000 sets of 1,000 values: %v", err)
	}
}
