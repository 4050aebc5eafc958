package clients_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpproxy/internal/needs"
)

// A tool shows tables and no notices.
type tool struct {
	name     string
	command  []string
	needs    []string // a command that succeeds where the tool is installed
	packages string
}

func pythonTool(program, module, packages string) tool {
	return tool{
		program, append(python[:1:1], filepath.Join("tools", program+".py")), append(python[:2:2], "-c", "import "+module), packages,
	}
}

var tools = []tool{
	pythonTool("pandas_frame", "pandas, psycopg2", "python3-pandas python3-psycopg2"),
	pythonTool("superset", "sqlalchemy, pandas, psycopg2", "python3-sqlalchemy"),
	pythonTool("grafana", "psycopg2", "python3-psycopg2"),
	{
		"adminer", append(python[:1:1], "tools/adminer.py"),
		[]string{"sh", "-c", "test -e /usr/share/adminer/adminer/index.php && php -r 'exit((int)!extension_loaded(\"pgsql\"));'"},
		"adminer php-cli php-pgsql",
	},
	{
		"libreoffice", append(python[:1:1], "tools/libreoffice.py"),
		[]string{"sh", "-c", "command -v soffice && /usr/bin/python3 -c 'import uno'"},
		"libreoffice-base libreoffice-sdbc-postgresql python3-uno",
	},
	{
		"evidence", []string{"node", "node/evidence.js"},
		[]string{"node", "-e", "require.resolve('@evidence-dev/postgres', {paths: ['node']})"}, "npm",
	},
}

// inTools is the question of the tools: a released value, and one that Postgres computes of all groups.
const inTools = "SELECT sex, count(*) AS n, 100.0 * count(*) / sum(count(*)) OVER () AS share FROM patients GROUP BY sex ORDER BY sex"

// TestErrorsInTools asks a question by each tool for an analyst to whom the policy gives errors as columns, and looks for them in what the
// tool shows. Each tool writes a line of names and values for each row.
func TestErrorsInTools(t *testing.T) {
	needs.Asked(t, *long, "clients")
	o := clinicOptions()
	o.TLS = false // these tools would have to be told the authority, each in a way of its own
	o.Policy = strings.Replace(o.Policy, "tables: [patients, visits, labs]}",
		"tables: [patients, visits, labs], settings: {dp.columns: errors}}", 1)
	s := newSite(t, o, "")
	row := regexp.MustCompile(`n=\d+ share=\d[\d.]* n_error=\d+(\.\d+)? share_error=\d[\d.]*$`)
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			if out, err := exec.CommandContext(t.Context(), tool.needs[0], tool.needs[1:]...).CombinedOutput(); err != nil {
				client{name: tool.name, packages: tool.packages}.missing(t, fmt.Sprintf("%v\n%s", err, out))
			}
			cmd := exec.CommandContext(t.Context(), tool.command[0], tool.command[1:]...)
			cmd.Env = append(cmd.Environ(), append(s.clientEnv(t), "QUESTION="+inTools, "PYTHONDONTWRITEBYTECODE=1")...)
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			for _, line := range lines {
				if !row.MatchString(line) {
					t.Errorf("no errors in %q", line)
				}
			}
			if len(lines) < 2 {
				t.Errorf("%d rows", len(lines))
			}
		})
	}
}
