package config

import (
	"slices"
	"strings"
	"unicode/utf8"

	"dpproxy/planner/policy"
)

// Limits on the fields of a column. A document in which keys lead further is seldom one that people ask about by keys.
const (
	maxFields = 1000
	maxKeys   = 8
	maxKey    = 255 // bytes
)

// readFields reads the fields of a column by their paths.
func readFields(v value) (list []policy.FieldPolicy) {
	v.entries(func(path string, c value, place position) {
		f := policy.FieldPolicy{Path: path, Keys: readPath(c.placed(place), path)}
		if slices.ContainsFunc(list, func(o policy.FieldPolicy) bool { return slices.Equal(o.Keys, f.Keys) }) {
			c.placed(place).fail("the field is listed twice")
		}
		decode(c, fieldKeys, &f)
		list = append(list, f)
	})
	if len(list) > maxFields {
		v.fail("at most %d fields of a column can be listed", maxFields)
	}
	return list
}

// readPath reads keys with dots between them, in quotes where they have a dot, a quote or a blank.
func readPath(v value, path string) []string {
	keys, ok := policy.FieldKeys(path)
	long := slices.ContainsFunc(keys, func(k string) bool { return len(k) > maxKey || !utf8.ValidString(k) || strings.ContainsRune(k, 0) })
	if !ok || long || len(keys) > maxKeys {
		v.fail("a field is 1 to %d keys of at most %d bytes, as in device.kind; a key with a dot, a quote or a blank is in double quotes",
			maxKeys, maxKey)
	}
	return keys
}

// readFieldValues reads a list of values.
func readFieldValues(v value, f *policy.FieldPolicy) {
	values, enum := readValues(v)
	if f.Values = values; enum {
		v.fail("values of a field are a list: it is of no enum")
	}
}
