package mechanisms_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"dpproxy/mechanisms"
)

// secret is a number whose digits, in any base that fmt knows, are unmistakable.
const secret = 987654321

// traces are the ways to write secret.
var traces = []string{
	fmt.Sprintf("%d", secret), fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret),
	fmt.Sprintf("%o", secret), fmt.Sprintf("%b", secret), "9.8765", "98765",
}

func leaks(text string) bool {
	for _, trace := range traces {
		if strings.Contains(text, trace) {
			return true
		}
	}
	return false
}

type row struct {
	Public int
	value  mechanisms.Private
	nested struct{ deep []mechanisms.Private }
	byKey  map[string]mechanisms.Private
	any    any
}

func protectedRow() row {
	p := mechanisms.Protect(big.NewInt(secret))
	r := row{Public: 1, value: p, byKey: map[string]mechanisms.Private{"k": p}, any: p}
	r.nested.deep = []mechanisms.Private{p}
	return r
}

type envelope struct{ P mechanisms.Private }

const verbs = "vTtbcdoOqxXUeEfFgGsp"

func TestPrintingPrivate(t *testing.T) {
	p, r := mechanisms.Protect(big.NewInt(secret)), protectedRow()
	for _, flags := range []string{"", "+", "#", "-20", "020", " ", ".3"} {
		for _, verb := range verbs {
			format := "%" + flags + string(verb)
			if got := fmt.Sprintf(format, p); got != "private" && verb != 'T' && verb != 'p' {
				t.Errorf("%s of a private value: %q", format, got)
			}
			for _, v := range []any{p, &p, r, &r, []row{r}, []mechanisms.Private{p}, map[string]any{"p": p}, struct{ p any }{&p}} {
				if got := fmt.Sprintf(format, v); leaks(got) {
					t.Errorf("%s of %T: %q", format, v, got)
				}
			}
		}
	}
	if got := fmt.Sprint(p) + fmt.Sprintln(p) + fmt.Errorf("x: %w, %v", errors.New("y"), p).Error(); leaks(got) {
		t.Errorf("%q", got)
	}
}

// TestTracesAreFound makes sure that leaks would see a leak.
func TestTracesAreFound(t *testing.T) {
	for _, verb := range "vbdoOxX" {
		if got := fmt.Sprintf("%"+string(verb), big.NewInt(secret)); !leaks(got) {
			t.Errorf("%%%c writes %q, which is not found", verb, got)
		}
	}
}

func TestLoggingPrivate(t *testing.T) {
	p, r := mechanisms.Protect(big.NewInt(secret)), protectedRow()
	var text bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&text, nil)} {
		slog.New(h).Info("m", "p", p, "ptr", &p, "row", r, "rows", []row{r}, "list", []mechanisms.Private{p}, slog.Group("g", "p", p))
	}
	if leaks(text.String()) {
		t.Errorf("logged %q", text.String())
	}
	if !strings.Contains(text.String(), "p=private") || !strings.Contains(text.String(), `"p":"private"`) {
		t.Errorf("logged %q without a word for the value", text.String())
	}
}

func TestEncodingPrivate(t *testing.T) {
	p := mechanisms.Protect(big.NewInt(secret))
	exported := envelope{p}
	if _, err := json.Marshal(exported); !errors.Is(err, mechanisms.ErrPrivate) {
		t.Errorf("json: %v", err)
	}
	if text, err := json.Marshal(protectedRow()); err != nil || string(text) != `{"Public":1}` {
		t.Errorf("json of a row: %s, %v", text, err)
	}
	if _, err := p.MarshalText(); !errors.Is(err, mechanisms.ErrPrivate) {
		t.Errorf("text: %v", err)
	}
	if _, err := xml.Marshal(exported); !errors.Is(err, mechanisms.ErrPrivate) {
		t.Errorf("xml: %v", err)
	}
	if err := gob.NewEncoder(new(bytes.Buffer)).Encode(exported); err == nil {
		t.Error("gob encoded a private value")
	}
}

// noNoise adds nothing, to see the arithmetic around noise.
type noNoise struct{ mechanisms.Mechanism }

func (noNoise) Sample(z *big.Int, _ mechanisms.Source) *big.Int { return z.SetInt64(0) }

func TestRelease(t *testing.T) {
	v, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	p := mechanisms.Protect(v)
	want := new(big.Int).Set(v)
	v.SetInt64(0) // the value is a copy
	r := mechanisms.Release(noNoise{}, nil, p)
	r.Int().SetInt64(0) // and so is the number given out
	if r.Int().Cmp(want) != 0 {
		t.Errorf("released %v, want %v", r.Int(), want)
	}
	if (mechanisms.Released{}).Int().Sign() != 0 {
		t.Error("the zero Released is not zero")
	}
}

func TestReleaseAddsItsNoise(t *testing.T) {
	m := laplace(t, 1000, 1)
	noise := m.Sample(new(big.Int), rand.NewChaCha8([32]byte{1}))
	got := mechanisms.Release(m, rand.NewChaCha8([32]byte{1}), mechanisms.Protect(big.NewInt(secret)))
	if want := noise.Add(noise, big.NewInt(secret)); got.Int().Cmp(want) != 0 {
		t.Errorf("released %v, want %v", got.Int(), want)
	}
}

func TestCombine(t *testing.T) {
	v := mechanisms.Protect(big.NewInt(7))
	sum := mechanisms.Combine(-3, mechanisms.Weighted{Weight: -2, Value: v}, mechanisms.Weighted{Weight: 5, Value: v})
	s := gaussianSelection(t, 1, 1, atto/2)
	noisy, kept := s.Select(seeded(t), mechanisms.Combine(1000, mechanisms.Weighted{Weight: 1, Value: sum}))
	if !kept || noisy.Int().Sub(noisy.Int(), big.NewInt(1018)).CmpAbs(big.NewInt(12)) > 0 {
		t.Errorf("1000 + (−3 − 2·7 + 5·7) is about %v", noisy.Int())
	}
	if text := fmt.Sprintf("%v %d %+v", sum, sum, sum); text != "private private private" {
		t.Error(text)
	}
}
