// Package words reads the names of tables and columns: it splits them into words, puts these into the singular, and knows which
// groups of words they belong to, in the languages of words.yaml.
package words

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// The groups are those of words.yaml, which explains each.
const (
	Served         = "served"
	Ambiguous      = "ambiguous"
	Staff          = "staff"
	Celebrity      = "celebrity"
	Beside         = "beside"
	Base           = "base"
	PersonName     = "person name"
	Birth          = "birth"
	Gender         = "gender"
	NationalNumber = "national number"
	Password       = "password"
	Origin         = "origin"
	Email          = "email"
	Login          = "login"
	Phone          = "phone"
	Street         = "street"
	Salary         = "salary"
	Identifier     = "identifier"
	Generic        = "generic"
	Setting        = "setting"
	Value          = "value"
	Result         = "result"
	OfValue        = "of a value"
	Sequence       = "sequence"
	PersonNumber   = "person number"
	Owner          = "owner"
	Pair           = "pair"
	Role           = "role"
	Transaction    = "transaction"
	Log            = "log"
	Job            = "job"
	Session        = "session"
	Attachment     = "attachment"
	Secret         = "secret"
	Limit          = "limit"
	Writing        = "writing"
	Reaction       = "reaction"
	PlaceOrThing   = "place or thing"
	AddressLine    = "address line"
	Occasion       = "occasion"
	Tenant         = "tenant"
	Family         = "family"
	Deleted        = "deleted"
	AccountNumber  = "account number"
	SecretColumn   = "secret column"
	Picture        = "url or picture"
	Machine        = "address of a machine"
	FreeText       = "free text"
	LongText       = "long text"
	Title          = "title"
	Name           = "name"
	Open           = "open column"
	Payload        = "payload"
	Quantity       = "quantity"
	Ageless        = "ageless"
	Coordinates    = "coordinates"
	Lookup         = "lookup"
	LeadingLookup  = "leading lookup"
	Component      = "component"
	BearerName     = "bearer name"
	BareName       = "bare name"
	Bearer         = "bearer"
)

//go:embed words.yaml
var source []byte

// A phrase is one word, or several that follow one another.
type phrase []string

// vocabulary is the content of words.yaml.
type vocabulary struct {
	// groups has the phrases of each by their first word.
	groups map[string]map[string][]phrase
	// lemmas has the singular of each word and of each form of it.
	lemmas map[string]string
}

// known is the vocabulary. It is read when it is first asked for: most commands have no use for it.
var known = sync.OnceValue(func() *vocabulary { return load(source) })

// load reads the data file. It is part of the program: a fault in it is one of ours, which each test would meet.
func load(text []byte) *vocabulary {
	var file map[string]map[string][]string
	if err := yaml.Unmarshal(text, &file); err != nil {
		panic("words.yaml: " + err.Error()) //nolint:forbidigo // the file is part of the program, which cannot do without it
	}
	v := &vocabulary{map[string]map[string][]phrase{}, map[string]string{}}
	for _, languages := range file { // all singulars first: notes, where it stands, is a form of note
		for _, entries := range languages {
			for _, entry := range entries {
				v.learn(entry)
			}
		}
	}
	v.dropPlurals()
	var forms [][2]string
	for group, languages := range file {
		for _, entries := range languages {
			for _, entry := range entries {
				all := strings.Split(entry, "/")
				v.add(group, all[0])
				for _, form := range all[1:] {
					forms = append(forms, [2]string{form, fold(all[0])})
				}
			}
		}
	}
	for _, f := range forms {
		v.know(f[0], f[1])
	}
	return v
}

// know notes the singular of a form, written with accents or without, unless the form is itself a singular.
func (v *vocabulary) know(form, lemma string) {
	for _, spelling := range []string{fold(form), plain(form)} {
		if was := v.lemmas[spelling]; was == "" || was != spelling && lemma < was {
			v.lemmas[spelling] = lemma
		}
	}
}

// learn knows the words of an entry from now on.
func (v *vocabulary) learn(entry string) {
	for word := range strings.FieldsSeq(strings.Split(entry, "/")[0]) {
		if w := fold(word); !stop(w) {
			v.lemmas[w] = w
			v.know(word, w)
		}
	}
}

// shortestStem is the length of the shortest word that has a plural.
const shortestStem = 3

// dropPlurals makes forms of the words that are plurals of others.
func (v *vocabulary) dropPlurals() {
	for w := range v.lemmas {
		if stem, ok := strings.CutSuffix(w, "s"); ok && len(stem) >= shortestStem && v.lemmas[stem] == stem && v.lemmas[w] == w {
			v.lemmas[w] = stem
		}
	}
}

// add takes an entry into a group.
func (v *vocabulary) add(group, entry string) {
	var p phrase
	for word := range strings.FieldsSeq(entry) {
		if w := fold(word); !stop(w) {
			p = append(p, v.lemmas[w])
		}
	}
	if v.groups[group] == nil {
		v.groups[group] = map[string][]phrase{}
	}
	if !slices.ContainsFunc(v.groups[group][p[0]], func(other phrase) bool { return slices.Equal(other, p) }) {
		v.groups[group][p[0]] = append(v.groups[group][p[0]], p)
	}
}

// Has reports whether words of a name, as [Split] makes them, are of a group.
func Has(words []string, groups ...string) bool { return Find(words, groups...) != "" }

// Find returns the first word or phrase of the groups that is in a name; "" if there is none.
func Find(words []string, groups ...string) string {
	for i := range words {
		for _, group := range groups {
			for _, p := range known().groups[group][words[i]] {
				if i+len(p) <= len(words) && slices.Equal(p, words[i:i+len(p)]) {
					return strings.Join(p, " ")
				}
			}
		}
	}
	return ""
}

// Known reports whether a word, as [Split] makes it, is one of any group.
func Known(word string) bool { return known().lemmas[word] != "" }

// Is reports whether a word by itself is of one of the groups.
func Is(word string, groups ...string) bool { return Has([]string{word}, groups...) }
