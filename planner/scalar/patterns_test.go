package scalar_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"dpproxy/pgerr"
)

// written are expressions as analysts write them.
var written = []string{
	"~ '^(C50|D05)'", "~ '^E1[0-4]'", `~ '^[A-Z][0-9]{2}\.[0-9]$'`, "~ '^[0-9]+$'", "~ '^/product/[0-9]+$'", "~ '[0-9]'",
	"~ '^[^0-9]*$'", "~ '(diab|hyperten)'", `~ '^J4[0-7](\.[0-9])?$'`, "~ '[^0-9]'", "~* '^spring[0-9]+$'", "~* '(DIAB|hyper)'",
	"~ 'E1[0-4]'", `~ '^[^@]+@[^@]+\.[^@]+$'`, `~ '^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$'`, "~ '^.+@.+$'",
	"~ '[0-9]{3}-[0-9]{4}'", "~ '^[0-9]{5}(-[0-9]{4})?$'", "~ '^[A-Z]+[0-9]+$'", "~ '^[A-Z]*[0-9]*$'",
	"~ '^-?[0-9]+(\\.[0-9]+)?$'", "~ '[0-9]+ ?mg'", "~ '^[ \t]*$'", "~ '^[0-9]{1,3}$'", "~ '^.{0,3}$'", "~ '^a{2,}$'",
	"~ '[]a]'", "~ '^[^]a]+$'", "~ '[a-]'", "~ '[+--]'", "~ '^[é-ü]+$'", "~ 'é{2}'", `~ '\.'`, `~ '\\'`, `~ '\n'`, `~ '\u00e9'`,
	`~ '\A[0-9]\Z'`, "~ '^a|b$'", "~ '(^a|b$)'", "~ 'a|'", "~ '()'", "~ 'a??b*?'", "~ '(ab){2}'", "~ '(a|b)*'",
	"~ '^(a|[0-9])+$'", "~ '^(?:ab|cd)[0-9]'", "~ ']'", "~ '}'", "~ '^[a-c].*[0-9]{2}$'", "~ '^[a-c]+[0-9].*[a-c]+$'",
	"~ '[a-c][0-9].*[0-9]'", "~ '^[^a]$'", "~ '^[^ab]{2}$'", "~ '^[^a]{2}x'", "~* '^[^a]{2}'", "~* '[^b]'", "~* '[A-C]{2}'",
	"!~* '[A-C]x'", "SIMILAR TO '[0-9]+'", "SIMILAR TO '%[0-9]%'", "SIMILAR TO '(a|b)+'", "SIMILAR TO 'a{2}_%'",
	"NOT SIMILAR TO '[a-c]%'", "SIMILAR TO 'a.b'", "SIMILAR TO '^a$'", "SIMILAR TO 'a|b'", `SIMILAR TO 'a\%%'`,
	"SIMILAR TO '[a%]+'", "SIMILAR TO '[^0-9]%'",
}

// TestPatterns compares tests that stand for regular expressions with Postgres's own, on texts of their characters.
func TestPatterns(t *testing.T) {
	db := open(t)
	r := rand.New(rand.NewPCG(18, 9))
	if err := db.fillTexts(t, r); err != nil {
		t.Fatal(err)
	}
	for _, p := range written {
		for _, x := range []string{"s", "v", "c", "cc"} {
			if err := db.matches(t, x, p); err != nil {
				t.Errorf("%s %s: %v", x, p, err)
			}
		}
	}
	const tried = 300
	accepted := 0
	for range tried {
		p := randomPattern(r)
		x := []string{"s", "v", "c", "cc"}[r.IntN(4)]
		err := db.matches(t, x, p)
		var refusal *pgerr.Error
		switch {
		case errors.As(err, &refusal) && refusal.Code == pgerr.NotAllowed:
		case err != nil:
			t.Errorf("%s %s: %v", x, p, err)
		default:
			accepted++
		}
	}
	if accepted < tried/2 {
		t.Errorf("only %d of %d expressions were accepted", accepted, tried)
	}
	t.Logf("%d of %d random expressions accepted", accepted, tried)
}

// fillTexts makes a table of texts beside t, with its columns that are texts.
func (db *database) fillTexts(t *testing.T, r *rand.Rand) error {
	t.Helper()
	texts := []string{
		"", " ", "C50.9", "D05", "E11", "XE14", "A12.3", "A12.34", "a12.3", "1", "12345", "/product/12", "/product/",
		"/product/1x", "diabetes", "HyperTension", "J45", "J45.1", "J48", "J45.12", "a@b.cc", "a.b@c-d.example.org", "a@b",
		"@b.c", "555-1234", "12345-6789", "AB12", "12AB", "-1.50", "5 mg", "5mg", "500 mg daily", "\t", "aa", "aaa", "éé", "é",
		"ü", "SPRING24", "spring", "abab", "ab1", "cd2", "a\nb", "a\n", "\n", "a\\b", "a%b", "a]b", "b1x2c", "ax22", "K",
		"\u212a", "ſ", "a,,12", "a,b,12", "1/2/2024", "axb", "aXb", ",,", "a@b@c.d",
	}
	alphabet := []rune("aabbc0011-. A%\n]é_")
	for range 150 {
		n := r.IntN(9)
		text := ""
		for range n {
			text += string(alphabet[r.IntN(len(alphabet))])
		}
		texts = append(texts, text)
	}
	_, err := db.data.Exec(t.Context(), `DROP TABLE IF EXISTS pg_temp.texts;
		CREATE TEMP TABLE texts (s text, v varchar(8), c char(5), cc text COLLATE "POSIX");
		INSERT INTO pg_temp.texts VALUES (NULL, NULL, NULL, NULL)`)
	if err == nil {
		_, err = db.data.Exec(t.Context(), "INSERT INTO pg_temp.texts SELECT x, left(x, 8), left(x, 5), x FROM unnest($1::text[]) x", texts)
	}
	return err
}

// matches compares one test on all texts.
func (db *database) matches(t *testing.T, column, test string) error {
	t.Helper()
	native := "t0." + column + " " + test
	e, _, err := parse(column + " " + test)
	if err != nil {
		return err
	}
	res, err := db.resolve(t.Context(), resolver(), e)
	if err != nil {
		return err
	}
	ours, _, err := res.writer().Value(res.x)
	if err != nil {
		return err
	}
	rows, err := db.query(t.Context(), res.env, fmt.Sprintf("SELECT t0.s, %s, %s FROM pg_temp.texts AS t0 WHERE (%s) IS DISTINCT FROM (%s)",
		ours, native, ours, native))
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return fmt.Errorf("%q: %s, in Postgres %s\n\t%s", *rows[0][0], show(rows[0][1]), show(rows[0][2]), ours)
	}
	return nil
}

func show(s *string) string {
	if s == nil {
		return "NULL"
	}
	return *s
}

// randomPattern makes a test for a regular expression.
func randomPattern(r *rand.Rand) string {
	ops := []string{"~", "~", "~", "!~", "~*", "!~*", "SIMILAR TO", "NOT SIMILAR TO"}
	op := ops[r.IntN(len(ops))]
	p := randomBranches(r, 2, strings.Contains(op, "SIMILAR"))
	if !strings.Contains(op, "SIMILAR") {
		if r.IntN(3) > 0 {
			p = "^" + p
		}
		if r.IntN(3) > 0 {
			p += "$"
		}
	}
	return op + " '" + p + "'"
}

func randomBranches(r *rand.Rand, depth int, similar bool) string {
	atoms := []string{"a", "b", "0", "-", "[ab]", "[0-9]", "[a-c]", "[^a]", "[^01]", "[a-c0]", `\.`, "A", "[A-C]"}
	if similar {
		atoms = append(atoms, "%", "_", ".")
	} else {
		atoms = append(atoms, ".", ".*", `\n`, "[^.]", "[]-]", "%", "_")
	}
	quantifiers := []string{"", "", "", "", "+", "*", "?", "{2}", "{1,2}", "{2,}", "{0,3}"}
	if !similar {
		quantifiers = append(quantifiers, "+?", "*?")
	}
	var p string
	for range r.IntN(4) + 1 {
		atom := atoms[r.IntN(len(atoms))]
		if depth > 0 && r.IntN(6) == 0 {
			atom = "(" + randomBranches(r, depth-1, similar) + "|" + randomBranches(r, depth-1, similar) + ")"
		}
		if !strings.HasSuffix(atom, "*") && atom != "%" {
			atom += quantifiers[r.IntN(len(quantifiers))]
		}
		p += atom
	}
	return p
}
