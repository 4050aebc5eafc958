package wire

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"

	"dpproxy/pgerr"
)

const (
	mechanism     = "SCRAM-SHA-256"
	mechanismPlus = "SCRAM-SHA-256-PLUS"
	saltBytes     = 16
)

var errVerifier = errors.New("wire: not a verifier of the form SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>")

// MakeVerifier returns a password as servers store it, in Postgres's form
// SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>, with a fresh salt.
// No iterations means Postgres's default of 4096.
func MakeVerifier(password string, iterations int) (string, error) {
	if iterations <= 0 {
		iterations = defaultIterations
	}
	var salt [saltBytes]byte
	rand.Read(salt[:])
	// A password that SASLprep does not take is used as it is, as Postgres does.
	client, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		client, err = scram.SHA256.NewClientUnprepped("", password, "")
	}
	if err != nil {
		return "", err
	}
	c, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: string(salt[:]), Iters: iterations})
	if err != nil {
		return "", err
	}
	return formatVerifier(c), nil
}

func formatVerifier(c scram.StoredCredentials) string {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s$%d:%s$%s:%s", mechanism, c.Iters, b64([]byte(c.Salt)), b64(c.StoredKey), b64(c.ServerKey))
}

// CheckVerifier reports whether verifier has the form that [MakeVerifier] and
// Postgres write.
func CheckVerifier(verifier string) error {
	_, err := parseVerifier(verifier)
	return err
}

// Iterations returns the number that a verifier names, or 0 if it is none.
func Iterations(verifier string) int {
	c, err := parseVerifier(verifier)
	if err != nil {
		return 0
	}
	return c.Iters
}

func parseVerifier(v string) (scram.StoredCredentials, error) {
	var c scram.StoredCredentials
	parts := strings.Split(v, "$")
	if len(parts) != 3 || parts[0] != mechanism {
		return c, errVerifier
	}
	iterations, salt, ok1 := strings.Cut(parts[1], ":")
	stored, server, ok2 := strings.Cut(parts[2], ":")
	n, err := strconv.Atoi(iterations)
	if !ok1 || !ok2 || err != nil || n < 1 {
		return c, errVerifier
	}
	var decoded [3][]byte
	for i, s := range []string{salt, stored, server} {
		if decoded[i], err = base64.StdEncoding.DecodeString(s); err != nil {
			return c, errVerifier
		}
	}
	if len(decoded[0]) == 0 || len(decoded[1]) != sha256.Size || len(decoded[2]) != sha256.Size {
		return c, errVerifier
	}
	c.KeyFactors = scram.KeyFactors{Salt: string(decoded[0]), Iters: n}
	c.StoredKey, c.ServerKey = decoded[1], decoded[2]
	return c, nil
}

// credentials returns the stored keys of a user, or for an unknown one such as look the
// same each time and fit no password.
func (v *Server) credentials(ctx context.Context, config *Config, user string) (scram.StoredCredentials, error) {
	verifier, known, err := config.Verifier(ctx, user)
	if ctx.Err() != nil {
		return scram.StoredCredentials{}, errDone // the time to log in is over, or the server stops
	}
	if err != nil {
		v.log.Error("the verifiers cannot be read: nobody can log in with a password", "error", err)
		return scram.StoredCredentials{}, fatal(pgerr.CannotConnectNow, "passwords cannot be checked now")
	}
	if known {
		c, err := parseVerifier(verifier)
		if err == nil {
			return c, nil
		}
		v.log.Error("the stored verifier is not usable", "user", user)
	}
	derive := func(purpose string) []byte {
		h := hmac.New(sha256.New, config.MockKey)
		h.Write([]byte(purpose + "\x00" + user))
		return h.Sum(nil)
	}
	iterations := mockIterations(config.Iterations, derive("iterations"))
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(derive("salt")[:saltBytes]), Iters: iterations},
		StoredKey:  derive("stored"),
		ServerKey:  derive("server"),
	}, nil
}

// mockIterations is one of the numbers that verifiers have, chosen by a digest: as often each as verifiers have it.
func mockIterations(all []int, digest []byte) int {
	if len(all) == 0 {
		return defaultIterations
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[binary.BigEndian.Uint64(digest)%uint64(len(sorted))]
}

// authenticate lets the client prove that they are the user: by a certificate, or by a
// password. An address from which too many proofs for a user were wrong or did not come must
// wait, for that user.
func (v *Server) authenticate(ctx context.Context, c *connection, p *peer) error {
	if err := v.attempts.may(attemptOf(c.address, c.user), c.config.Limits); err != nil {
		return err
	}
	if c.shown != nil && c.config.Certificate != nil && c.config.Certificate(c.user, c.shown) {
		return p.say(&pgproto3.AuthenticationOk{})
	}
	return v.checkPassword(ctx, c, p)
}

// checkPassword is SCRAM-SHA-256 (RFC 7677), with channel binding where TLS has one.
func (v *Server) checkPassword(ctx context.Context, c *connection, p *peer) error {
	mechanisms := []string{mechanism}
	if c.binding.IsSupported() {
		mechanisms = []string{mechanismPlus, mechanism}
	}
	if err := p.say(&pgproto3.AuthenticationSASL{AuthMechanisms: mechanisms}); err != nil {
		return err
	}
	first, err := p.saslInitial(c.binding.IsSupported())
	if err != nil {
		return err
	}
	signature, err := v.prove(ctx, c, p, first)
	if err != nil {
		return err
	}
	final := encode(nil, &pgproto3.AuthenticationSASLFinal{Data: []byte(signature)})
	if err := p.write(encode(final, &pgproto3.AuthenticationOk{})); err != nil {
		return err
	}
	return p.flush()
}

// prove answers the client's first message with a challenge, and returns the signature that
// answers the right proof. A client that sees a challenge and does not prove anything counts as one
// that was wrong; that verifiers cannot be read, or that others need its place, is not the client's fault.
func (v *Server) prove(ctx context.Context, c *connection, p *peer, first string) (signature string, err error) {
	of := attemptOf(c.address, c.user)
	if err := v.attempts.prove(ctx, of, c.config.Limits); err != nil {
		return "", err
	}
	c.reached(answered)
	failed := true
	defer func() { v.attempts.settle(of, failed && !turnedAway(ctx), c.config.Limits) }()
	denied := fatal(pgerr.InvalidPassword, "password authentication failed for user %q", c.user)
	stored, err := v.credentials(ctx, c.config, c.user)
	if err != nil {
		failed = errors.Is(err, errDone)
		return "", err
	}
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return stored, nil })
	if err != nil {
		return "", err
	}
	conversation := server.NewConversationWithChannelBinding(c.binding)
	challenge, err := conversation.Step(first)
	if err != nil {
		return "", denied
	}
	if err := p.say(&pgproto3.AuthenticationSASLContinue{Data: []byte(challenge)}); err != nil {
		return "", err
	}
	proof, err := p.password()
	if err != nil {
		return "", err
	}
	signature, err = conversation.Step(string(proof))
	if err != nil || !conversation.Valid() {
		return "", denied
	}
	failed = false
	return signature, nil
}

// say sends one message at once.
func (p *peer) say(m pgproto3.Message) error {
	if err := p.write(encode(nil, m)); err != nil {
		return err
	}
	return p.flush()
}

// password reads the body of a password message.
func (p *peer) password() ([]byte, error) {
	typ, size, err := p.in.head()
	switch {
	case errors.Is(err, errTooLong) || errors.Is(err, errLength):
		return nil, fatal(pgerr.ProtocolViolation, "invalid message length")
	case err != nil:
		return nil, errDone
	case typ != 'p':
		return nil, fatal(pgerr.ProtocolViolation, "expected SASL response, got message type %d", typ)
	}
	raw, err := p.in.take(size)
	if err != nil {
		return nil, errDone
	}
	return raw[headerBytes:], nil
}

func (p *peer) saslInitial(plus bool) (string, error) {
	body, err := p.password()
	if err != nil {
		return "", err
	}
	var m pgproto3.SASLInitialResponse
	if m.Decode(body) != nil {
		return "", fatal(pgerr.ProtocolViolation, "malformed SASL response")
	}
	if m.AuthMechanism != mechanism && (m.AuthMechanism != mechanismPlus || !plus) {
		return "", fatal(pgerr.ProtocolViolation, "client selected an invalid SASL authentication mechanism")
	}
	bound := strings.HasPrefix(string(m.Data), "p=")
	if bound != (m.AuthMechanism == mechanismPlus) {
		return "", fatal(pgerr.ProtocolViolation, "the channel binding flag does not fit the SASL mechanism")
	}
	return string(m.Data), nil
}
