package config

import (
	"regexp"
	"strings"
)

// secretLine matches lines that may hold a secret: a key of a password or of a
// connection, a URL with a password, a keyword of a connection string, a verifier.
var secretLine = regexp.MustCompile(`(?i)(password|passwd|pwd)["']?[\s\v]*[:=]` +
	`|://.*:.*@` +
	`|^["']?(data|mirror|mirror_admin)["']?\s*:` +
	`|(redis|connection)["']?\s*:` +
	`|SCRAM-SHA-256\$`)

// secretLines marks the lines that may hold a secret, with the lines indented below
// each: a text may go on there. It needs no syntax, and so errs on the safe side.
func secretLines(lines []string) []bool {
	secret := make([]bool, len(lines))
	within := -1 // indentation of the secret line above
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		if within >= 0 && (indent > within || strings.TrimSpace(line) == "") {
			secret[i] = true
			continue
		}
		within = -1
		if secretLine.MatchString(line) {
			secret[i], within = true, indent
		}
	}
	return secret
}

var (
	urlPassword     = regexp.MustCompile(`(://[^:\s]*:).*@`)
	keywordPassword = regexp.MustCompile(`(?i)(password[\s\v]*=[\s\v]*).*`)
	quotedText      = regexp.MustCompile(`"[^"]*"`)
)

// redact takes passwords out of a message.
func redact(text string) string {
	return keywordPassword.ReplaceAllString(urlPassword.ReplaceAllString(text, "${1}...@"), "${1}...")
}
