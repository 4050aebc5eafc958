package wire

import "strings"

// plainSettings are the start-up parameters that reach the mirror, besides
// the class dp. None of them changes the session's user or privileges.
var plainSettings = map[string]bool{
	"application_name": true, "client_encoding": true, "datestyle": true, "timezone": true,
	"intervalstyle": true, "extra_float_digits": true, "search_path": true, "bytea_output": true,
	"client_min_messages": true, "statement_timeout": true, "lock_timeout": true,
	"idle_in_transaction_session_timeout": true, "default_transaction_isolation": true,
	"default_transaction_read_only": true, "default_transaction_deferrable": true,
	"standard_conforming_strings": true, "work_mem": true, "jit": true, "geqo": true,
}

// allowedSettings picks from a start-up packet the settings that reach the
// mirror. Settings in options come first, as in Postgres. The rest is ignored.
func allowedSettings(params map[string]string) map[string]string {
	out := map[string]string{}
	take := func(name, value string) {
		name = strings.ToLower(name)
		if plainSettings[name] || strings.HasPrefix(name, "dp.") && len(name) > len("dp.") {
			out[name] = value
		}
	}
	for _, o := range optionSettings(params["options"]) {
		take(o[0], o[1])
	}
	for name, value := range params {
		take(name, value)
	}
	return out
}

// optionSettings reads "-c name=value", "-cname=value" and "--name=value".
// Dashes in a name stand for underscores.
func optionSettings(options string) [][2]string {
	var out [][2]string
	words := splitOptions(options)
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-c" && i+1 < len(words):
			i++
			w = words[i]
		case strings.HasPrefix(w, "--"):
			w = w[2:]
		case strings.HasPrefix(w, "-c"):
			w = w[2:]
		default:
			continue
		}
		if name, value, ok := strings.Cut(w, "="); ok {
			out = append(out, [2]string{strings.ReplaceAll(name, "-", "_"), value})
		}
	}
	return out
}

// splitOptions cuts at white space; a backslash takes the next byte as it is.
func splitOptions(s string) []string {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			word.WriteByte(s[i])
			inWord = true
		case strings.IndexByte(" \t\n\r\v\f", c) >= 0:
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}
