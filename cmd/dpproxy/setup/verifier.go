package setup

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"dpproxy/wire"
)

// Verifier reads a password and prints its SCRAM verifier, in the form
// that Postgres keeps in pg_authid.
type Verifier struct {
	Iterations int `help:"PBKDF2 iterations." default:"4096"`
}

// Run implements the command.
func (c *Verifier) Run() error {
	password, err := readPassword()
	if err != nil {
		return err
	}
	v, err := wire.MakeVerifier(password, c.Iterations)
	if err != nil {
		return err
	}
	_, err = fmt.Println(v)
	return err
}

// readPassword asks at a terminal, without echo, or reads a line of a pipe.
func readPassword() (string, error) {
	fd := int(os.Stdin.Fd())
	if !term.IsTerminal(fd) {
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			return "", errors.Join(errors.New("no password on standard input"), err)
		}
		return line, nil
	}
	fmt.Fprint(os.Stderr, "Password: ")
	password, err := term.ReadPassword(fd)
	fmt.Fprintln(os.Stderr)
	if err == nil && len(password) == 0 {
		err = errors.New("an empty password is no password")
	}
	return string(password), err
}
