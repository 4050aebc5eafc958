package introspect_test

import (
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror/introspect"
)

// TestCompressed holds that columns of texts and arrays that are compressed with lz4 are warned of, where
// protected tables keep their rows; that the statements of the warning rewrite them; and that the schema
// which is compared stays the same.
func TestCompressed(t *testing.T) {
	conn := connect(t, start(t).URL("postgres", pgtemp.Superuser))
	// Before 14, and in a Postgres that was built without it, there is no other compression than pglz.
	const known = "SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'"
	if value(t, conn, known) != "true" {
		run(t, conn, "CREATE TABLE notes (note text)")
		got, err := introspect.Compressed(t.Context(), conn, []catalog.Name{name("notes")})
		if err != nil || len(got) > 0 {
			t.Errorf("the warnings are %v, %v", got, err)
		}
		return
	}
	run(t, conn, `CREATE TABLE notes (id int PRIMARY KEY, plain text, packed text COMPRESSION lz4, "Short" varchar(5000) COMPRESSION lz4,
			bytes bytea COMPRESSION lz4, inline text, tags text[] COMPRESSION lz4);
		ALTER TABLE notes ALTER inline SET STORAGE PLAIN;
		CREATE TABLE parts (id int, note text) PARTITION BY RANGE (id);
		CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (9); ALTER TABLE parts_1 ALTER note SET COMPRESSION lz4;
		CREATE TABLE other (note text COMPRESSION lz4); CREATE TABLE public_notes (note text COMPRESSION lz4);
		INSERT INTO notes SELECT 1, long, long, left(long, 5000), long::bytea, NULL, ARRAY[long] FROM repeat('abc', 5000) long`)
	protected := []catalog.Name{name("notes"), name("parts")}
	warned := func() string {
		t.Helper()
		packed, err := introspect.Compressed(t.Context(), conn, protected)
		if err != nil {
			t.Fatal(err)
		}
		warnings := make([]string, len(packed))
		for i, p := range packed {
			said, alike := p.Warning()
			if warnings[i] = p.Table.String() + ": " + said; strings.Contains(alike, p.Column) || !strings.Contains(alike, "lz4") {
				t.Errorf("of all such columns %q is said", alike)
			}
		}
		return strings.Join(warnings, "\n")
	}
	fingerprint := func() string {
		t.Helper()
		schema, err := read(t, conn, append(protected, name("public_notes"))...)
		if err != nil {
			t.Fatal(err)
		}
		return schema.Tables[name("notes")].Fingerprint
	}
	before, first := fingerprint(), warned()
	for line := range strings.SplitSeq(first, "\n") {
		_, todo, _ := strings.Cut(line, "on the protected database: ")
		run(t, conn, todo)
	}
	for _, want := range []string{
		"public.notes: texts of packed are", `public.notes: texts of "Short" are`, "public.parts_1: texts of note are",
		"public.notes: arrays of tags are",
	} {
		if !strings.Contains(first, want) || strings.Count(first, "\n") != 3 {
			t.Errorf("the warnings are\n%s", first)
		}
	}
	if left := warned(); left != "" || fingerprint() != before {
		t.Errorf("left is %q; the fingerprint was %s and is %s", left, before, fingerprint())
	}
	var packed string
	err := conn.QueryRow(t.Context(), `SELECT concat_ws(' ', pg_column_compression(packed), pg_column_compression("Short"), `+
		`pg_column_compression(tags)) FROM notes`).Scan(&packed)
	if err != nil || packed != "pglz pglz pglz" {
		t.Errorf("the values are compressed with %s: %v", packed, err)
	}
	run(t, conn, "SET default_toast_compression = lz4")
	if got := warned(); !strings.Contains(got, "public.notes: texts of plain") || strings.Contains(got, "packed") {
		t.Errorf("with another default the warnings are\n%s", got)
	}
}
