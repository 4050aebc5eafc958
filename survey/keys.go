package survey

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
)

// keys are the keys of objects in the order in which they were first seen, as one text: of each its length and its bytes. They are
// found by a table of places, so that a key costs its bytes and a few more.
type keys struct {
	seed    maphash.Seed
	text    []byte
	starts  []uint32 // of each key in text
	slots   []uint32 // places + 1, by the hash of the key
	digest  hash.Hash
	digests int64 // bytes that went into digest
}

const (
	// maxKeys bounds the bytes of all keys, so that a place in them fits into 32 bits.
	maxKeys = 1<<32 - 1
	// maxKey bounds one key, in bytes.
	maxKey = 4096
)

func newKeys() *keys {
	return &keys{seed: maphash.MakeSeed(), slots: make([]uint32, 1<<10), digest: sha256.New()}
}

// errKeys is returned for objects that there is no room for.
var errKeys = errors.New("survey: the keys of objects are too long, or too many")

// count is the number of objects.
func (k *keys) count() int64 { return int64(len(k.starts)) }

// key returns the key of an object.
func (k *keys) key(i int64) []byte {
	text := k.text[k.starts[i]:]
	n, head := binary.Uvarint(text)
	return text[head : head+int(n)]
}

// slot returns where the key is, or would be, among the slots.
func (k *keys) slot(key []byte) int {
	mask := len(k.slots) - 1
	at := int(maphash.Bytes(k.seed, key)) & mask
	for k.slots[at] != 0 && !bytes.Equal(k.key(int64(k.slots[at]-1)), key) {
		at = (at + 1) & mask
	}
	return at
}

// find returns the place of a key; a new one is added.
func (k *keys) find(key []byte) (i int64, err error) {
	at := k.slot(key)
	if k.slots[at] != 0 {
		return int64(k.slots[at] - 1), nil
	}
	if len(key) > maxKey || len(k.text)+len(key)+binary.MaxVarintLen64 > maxKeys {
		return 0, errKeys
	}
	k.starts = append(k.starts, uint32(len(k.text)))
	k.text = append(binary.AppendUvarint(k.text, uint64(len(key))), key...)
	k.slots[at] = uint32(len(k.starts))
	if 4*len(k.starts) > 3*len(k.slots) {
		k.rehash()
	}
	return k.count() - 1, nil
}

// rehash doubles the slots.
func (k *keys) rehash() {
	k.slots = make([]uint32, 2*len(k.slots))
	for i := range k.count() {
		k.slots[k.slot(k.key(i))] = uint32(i + 1)
	}
}

// sum returns the digest of the first bytes. They are asked for in ascending order.
func (k *keys) sum(upTo int64) string {
	k.digest.Write(k.text[k.digests:upTo])
	k.digests = upTo
	return hex.EncodeToString(k.digest.Sum(nil))
}

// readKeys reads the text of keys, each once.
func readKeys(text []byte) (*keys, error) {
	k := newKeys()
	for rest := text; len(rest) > 0; {
		n, head := binary.Uvarint(rest)
		if head <= 0 || n > maxKey || n > uint64(len(rest)-head) {
			return nil, errors.New("survey: the file of keys is damaged")
		}
		before := k.count()
		if i, err := k.find(rest[head : head+int(n)]); err != nil || i != before {
			return nil, fmt.Errorf("survey: key %d stands twice in the file of keys, or there is no room for it", before)
		}
		rest = rest[head+int(n):]
	}
	return k, nil
}
