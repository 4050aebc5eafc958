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
	gosync "sync"
)

// Parameters of the SCRAM verifiers that Sync stores; the iterations are Postgres's
// own. The password never travels to the mirror, whose log might keep it.
const (
	scramIterations = 4096
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

// verified has the text that was last found to be of a password: to find out takes a millisecond, at each log-in.
var verified gosync.Map

// verifies reports whether the stored text is of this password.
func verifies(stored, password string) bool {
	if known, ok := verified.Load(password); ok && known == stored {
		return true
	}
	rest, ok := strings.CutPrefix(stored, "SCRAM-SHA-256$")
	parameters, _, found := strings.Cut(rest, "$")
	count, salt, colon := strings.Cut(parameters, ":")
	iterations, err := strconv.Atoi(count)
	raw, saltErr := base64.StdEncoding.DecodeString(salt)
	if !ok || !found || !colon || err != nil || saltErr != nil || iterations < 1 {
		return false
	}
	again, err := verifier(password, raw, iterations)
	if err != nil || !hmac.Equal([]byte(again), []byte(stored)) {
		return false
	}
	verified.Store(password, stored)
	return true
}
