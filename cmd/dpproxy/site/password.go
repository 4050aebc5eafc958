package site

import (
	"fmt"
	"os"
	"strings"

	"dpproxy/config"
)

// A Password is where that of a connection comes from: a variable of the environment, else a file that a key of the policy
// names.
type Password struct{ variable, key, file string }

// dataVariable has the password of the protected database, also where there is no policy yet.
const dataVariable = "DPPROXY_DATA_PASSWORD"

// DataPassword is that of the protected database.
func DataPassword(p *config.Policy) Password {
	return Password{dataVariable, "data_password_file", p.DataPasswordFile}
}

// MirrorPassword is that of the superuser of the mirror.
func MirrorPassword(p *config.Policy) Password {
	return Password{"DPPROXY_MIRROR_PASSWORD", "mirror_password_file", p.MirrorPasswordFile}
}

// AuthPassword is that of auth_query, which can share the connection of another key.
func AuthPassword(p *config.Policy) Password {
	q := p.AuthQuery
	switch q.Connection {
	case config.AuthData:
		return DataPassword(p)
	case config.AuthMirror:
		return MirrorPassword(p)
	}
	return Password{"DPPROXY_AUTH_PASSWORD", "auth_query.password_file", q.PasswordFile}
}

// RedisPassword is that of a ledger in Redis.
func RedisPassword(l config.Ledger) Password {
	return Password{"DPPROXY_REDIS_PASSWORD", "ledger.redis_password_file", l.PasswordFile}
}

// witnessPassword is that of the server of ledger.witness.
func witnessPassword(l config.Ledger) Password {
	return Password{"DPPROXY_WITNESS_PASSWORD", "ledger.witness_password_file", l.WitnessPasswordFile}
}

// Read returns the password, empty without one.
func (p Password) Read() (string, error) {
	if text := os.Getenv(p.variable); text != "" || p.file == "" {
		return text, nil
	}
	text, err := os.ReadFile(p.file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.key, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// source says where the password comes from.
func (p Password) source() string {
	switch {
	case os.Getenv(p.variable) != "":
		return "the password is that of " + p.variable
	case p.file != "":
		return fmt.Sprintf("the password is that of %s, %s (%s is not set)", p.key, p.file, p.variable)
	}
	if p.key == "" {
		return p.variable + " is not set"
	}
	return fmt.Sprintf("neither %s nor %s is set", p.variable, p.key)
}
