package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dpproxy/dp"
)

// A key of a mapping in the policy file. The lists of keys alone define a policy:
// they drive decoding, and docs/policy.md is printed from them.
type key[T any] struct {
	name   string
	former string // a name that stays valid
	form   form[T]
	usual  string // the default; text in backquotes is read where the file lacks the key
	doc    string // %s stands for the limits of form
}

// needed is the default of keys that have none.
const needed = "needed"

// A form is the kind of a key's values: how one is decoded into T, and its limits in words.
type form[T any] struct {
	limits string
	read   func(value, *T)
}

// decode reads a mapping by the list of its keys; any other key is a fault. It returns the
// keys that the file states, as they are spelled there.
func decode[T any](v value, keys []key[T], into *T) (stated []string) {
	preset(keys, into)
	seen := map[string]string{}
	v.entries(func(name string, c value, place position) {
		i := slices.IndexFunc(keys, func(k key[T]) bool { return name == k.name || name == k.former })
		if i < 0 {
			c.path = v.path
			c.placed(place).fail("unknown key %q", name)
			return
		}
		k := keys[i]
		if other, twice := seen[k.name]; twice {
			c.placed(place).fail("is %s by another name: state one of them", other)
			return
		}
		seen[k.name] = name
		stated = append(stated, name)
		k.form.read(c, into)
	})
	for _, k := range keys {
		if k.usual == needed && seen[k.name] == "" {
			v.need(k.name)
		}
	}
	return stated
}

// preset reads the defaults.
func preset[T any](keys []key[T], into *T) {
	for _, k := range keys {
		if text, ok := k.preset(); ok {
			d := &decoder{src: newSource("default", []byte(text))}
			if root, err := d.parse([]byte(text)); err == nil {
				k.form.read(value{d: d, node: root, path: []string{k.name}}, into)
			}
		}
	}
}

// preset returns the text of a policy that states the default.
func (k key[T]) preset() (text string, ok bool) {
	quoted, ok := strings.CutPrefix(k.usual, "`")
	text, _, _ = strings.Cut(quoted, "`")
	return text, ok
}

// part is a form of its own reading, whose limits, if any, its doc states.
func part[T any](read func(value, *T)) form[T] { return form[T]{read: read} }

func text[T any](set func(*T, string)) form[T] {
	return part(func(v value, t *T) { set(t, v.text()) })
}

func toggle[T any](set func(*T, bool)) form[T] {
	return part(func(v value, t *T) { set(t, v.bool()) })
}

func oneOf[T any](words []string, set func(*T, string)) form[T] {
	return form[T]{"`" + strings.Join(words, "`, `") + "`", func(v value, t *T) { set(t, v.oneOf(words...)) }}
}

// count is a whole number from one on.
func count[T any, N int | int64](most N, set func(*T, N)) form[T] {
	return form[T]{fmt.Sprintf("1 to %d", most), func(v value, t *T) { set(t, N(v.count(int64(most)))) }}
}

// countOrNone is a whole number from nothing on.
func countOrNone[T any](most int, set func(*T, int)) form[T] {
	return form[T]{fmt.Sprintf("0 to %d", most), func(v value, t *T) { set(t, v.countOrNone(most)) }}
}

// between is a number that sets accuracy and no loss.
func between[T any](least, most float64, set func(*T, float64)) form[T] {
	return form[T]{fmt.Sprintf("%v to %v", least, most), func(v value, t *T) { set(t, v.between(least, most)) }}
}

// epsilon is a loss of one statement.
func epsilon[T any](set func(*T, int64)) form[T] {
	return form[T]{"from 1e-12 to " + dp.Decimal(maxSettingEpsilon, 12), func(v value, t *T) { set(t, v.epsilon(maxSettingEpsilon)) }}
}

func duration[T any](set func(*T, time.Duration)) form[T] {
	return form[T]{"`1ms` to `24h`", func(v value, t *T) { set(t, v.duration()) }}
}
