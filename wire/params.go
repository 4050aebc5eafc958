package wire

import (
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/pgerr"
)

// protocolWords are the parameters of a start-up packet that are no settings.
var protocolWords = map[string]bool{"user": true, "database": true, "options": true, "replication": true}

// startSettings are settings that SET cannot change, though every user may choose them at log-in. With post_auth_delay a session of the
// mirror would stay there long after its client has left, and many of them would keep everybody out.
var startSettings = map[string]bool{"ignore_system_indexes": true, "local_preload_libraries": true, "post_auth_delay": true}

// A settingName is the name of a setting; those with dots belong to extensions, and to dpproxy.
var settingName = regexp.MustCompile(`^[a-z_][a-z0-9_$]*(\.[a-z_][a-z0-9_$]*)*$`)

// requestedSettings returns the settings of a start-up packet; a parameter overrides what options say, as in Postgres. The mirror decides
// about each as it does about SET; those that SET cannot change are refused.
func requestedSettings(params map[string]string) (map[string]string, error) {
	out := map[string]string{}
	options, err := optionSettings(params["options"])
	if err != nil {
		return nil, err
	}
	for _, o := range options {
		name := strings.ToLower(o[0])
		if protocolWords[name] || !settingName.MatchString(name) {
			return nil, unknownSetting(o[0])
		}
		out[name] = o[1]
	}
	for name, value := range params {
		lower := strings.ToLower(name)
		switch {
		case protocolWords[name]:
		case protocolWords[lower] || !settingName.MatchString(lower):
			return nil, unknownSetting(name)
		default:
			out[lower] = value
		}
	}
	for name := range out {
		if startSettings[name] {
			return nil, fixedSetting(name)
		}
	}
	return out, nil
}

func fixedSetting(name string) error {
	return fatal(pgerr.CannotChange, "parameter %q cannot be changed at log-in", name)
}

func unknownSetting(name string) error {
	return fatal(pgerr.UndefinedObject, "unrecognized configuration parameter %q", name)
}

// refusedSetting says in words of our own which setting the mirror refused at log-in: the one whose name its message quotes first.
func refusedSetting(settings map[string]string, theirs *pgconn.PgError) error {
	_, quoted, _ := strings.Cut(theirs.Message, `"`)
	quoted, _, _ = strings.Cut(quoted, `"`)
	value, ours := settings[strings.ToLower(quoted)]
	switch {
	case !ours:
		return fatal(pgerr.InvalidParameterValue, "a start-up parameter has an invalid value, or must not be set")
	case theirs.Code == "42704":
		return unknownSetting(quoted)
	case theirs.Code == "42501":
		return fatal(pgerr.InsufficientPrivilege, "permission denied to set parameter %q", quoted)
	case theirs.Code == "55P02":
		return fixedSetting(quoted)
	}
	return fatal(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", quoted, value)
}

// optionSettings reads "-c name=value", "-cname=value" and "--name=value". Dashes in a name stand for underscores.
func optionSettings(options string) ([][2]string, error) {
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
			return nil, fatal(pgerr.Syntax, "invalid command-line argument for server process: %s", w)
		}
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, fatal(pgerr.Syntax, "-c %s requires a value", w)
		}
		out = append(out, [2]string{strings.ReplaceAll(name, "-", "_"), value})
	}
	return out, nil
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
