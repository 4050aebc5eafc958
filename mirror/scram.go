package mirror

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// Parameters of the SCRAM verifiers that Sync stores. Iterations make it slow to guess a password, and
// each log-in too, by a millisecond: those of roles are keys of 256 bits, which nobody guesses: one will do.
// The password never travels to the mirror, whose log might keep it.
const (
	scramIterations = 1
	scramSalt       = 16
)

func newVerifier(password string) (string, error) {
	salt := make([]byte, scramSalt)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	return verifier(password, salt, scramIterations)
}

// verifier computes the text that Postgres keeps in pg_authid (RFC 5803).
func verifier(password string, salt []byte, iterations int) (string, error) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return "", err
	}
	mac := func(text string) []byte {
		h := hmac.New(sha256.New, salted)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(mac("Client Key"))
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, b64(salt), b64(stored[:]), b64(mac("Server Key"))), nil
}

// verifies reports whether the stored text is of this password, in the form that newVerifier gives it.
func verifies(stored, password string) bool {
	rest, ok := strings.CutPrefix(stored, "SCRAM-SHA-256$")
	parameters, _, found := strings.Cut(rest, "$")
	count, salt, colon := strings.Cut(parameters, ":")
	iterations, err := strconv.Atoi(count)
	raw, saltErr := base64.StdEncoding.DecodeString(salt)
	if !ok || !found || !colon || err != nil || saltErr != nil || iterations != scramIterations {
		return false
	}
	again, err := verifier(password, raw, iterations)
	return err == nil && hmac.Equal([]byte(again), []byte(stored))
}
