package survey

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant/realized"
	"dpproxy/dp"
	"dpproxy/mirror"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/policy"
	answers "dpproxy/survey"
)

// A shelf is the table of answers on the mirror.
type shelf struct {
	local   *policy.Local
	answers *answers.Table
	readers []string
	limit   realized.Limit // of each object, by which the rest is shown
	open    func(ctx context.Context) (*pgx.Conn, error)
}

// shownName is the table of answers on the mirror.
func (t *shelf) shownName() string { return mirror.LocalName(t.local.Name.Name) }

// put has the mirror show all answers.
func (t *shelf) put(ctx context.Context) error {
	conn, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	losses, err := t.answers.Losses()
	if err != nil {
		return err
	}
	return mirror.ShowLocal(ctx, conn, t.shape(), func(w io.Writer) error { return t.write(w, losses) })
}

// Show has the mirror show the answers of a table to its readers, with what remains of a limit. Nothing else may show them meanwhile.
func Show(
	ctx context.Context, local *policy.Local, t *answers.Table, readers []string, limit realized.Limit,
	open func(ctx context.Context) (*pgx.Conn, error),
) error {
	s := &shelf{local: local, answers: t, readers: readers, limit: limit, open: open}
	return s.put(ctx)
}

// shape is the table of answers: the key, the public columns, a column for each survey, the loss and the rest.
func (t *shelf) shape() mirror.LocalTable {
	as := mirror.Local{Name: t.local.Name, Columns: append([]string{t.local.Key}, t.local.Public...)}
	shown := mirror.LocalTable{
		Name: t.local.Name.Name, Of: as.Noted(t.local.Source), State: t.state(), Readers: t.readers,
	}
	for _, c := range append([]policy.Column{t.local.KeyColumn}, t.local.PublicColumns...) {
		shown.Columns = append(shown.Columns, mirror.LocalColumn{Name: c.Name, Type: typeOf(c)})
	}
	for _, s := range t.answers.Surveys() {
		shown.Columns = append(shown.Columns, mirror.LocalColumn{Name: s.Name, Type: t.answerType(s), Comment: comment(s)})
	}
	for _, name := range mirror.LossColumns {
		shown.Columns = append(shown.Columns, mirror.LocalColumn{Name: name, Type: "numeric"})
	}
	return shown
}

// typeOf is the type of a column on the mirror: one of Postgres's own.
func typeOf(c policy.Column) string {
	t := pgtype.OfColumn(c.Type, c.Collation, c.Deterministic)
	if t.SQL() == "" || t.Enum.Name != "" || t.Array {
		return "text"
	}
	return t.SQL()
}

// answerType is the type of a column of answers.
func (t *shelf) answerType(s *answers.Survey) string {
	if s.Kind == answers.Number {
		return "numeric"
	}
	array := ""
	if s.Kind == answers.Set {
		array = "[]"
	}
	for _, c := range t.local.Private {
		if c.Name == s.Columns[0].Name {
			return typeOf(c) + array
		}
	}
	return "text" + array
}

// comment describes a column of answers.
func comment(s *answers.Survey) string {
	where := ""
	if s.Where != "" {
		where = " WHERE " + s.Where
	}
	form := "answers"
	if s.Kind == answers.Set {
		form = "a set of values: its own with 1/2, each other with 1/(exp(epsilon) + 1), of"
	}
	epoch := ""
	if s.Epoch > 0 {
		epoch = fmt.Sprintf("; epoch %d", s.Epoch)
	}
	return fmt.Sprintf("%s%s; epsilon %s; %s: %s%s", s.Question, where, dp.Decimal(s.EpsilonPico, 12), form,
		strings.Join(s.Answers, ", "), epoch)
}

// write writes the rows in the text format of COPY.
func (t *shelf) write(w io.Writer, losses *answers.Losses) error {
	shown, err := t.losses(losses)
	if err != nil {
		return err
	}
	surveys := t.answers.Surveys()
	out := make([]byte, 0, 1<<16)
	for i := range t.answers.Objects() {
		out = appendText(out, string(t.answers.Key(i)), true)
		for c := range t.local.PublicColumns {
			text, ok := t.answers.Public(i, c)
			out = appendText(append(out, '\t'), text, ok)
		}
		for _, s := range surveys {
			text, ok := s.Answer(i)
			out = appendText(append(out, '\t'), text, ok)
		}
		out = append(append(out, shown[losses.At(i)]...), '\n')
		if len(out) > 1<<15 {
			if _, err := w.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	_, err = w.Write(out)
	return err
}

// losses writes each of the different losses, with the largest ε of a question that the object is surely still asked.
func (t *shelf) losses(losses *answers.Losses) ([]string, error) {
	filter, err := realized.NewFilter(t.limit)
	if err != nil {
		return nil, err
	}
	var shown []string
	for _, spent := range losses.Distinct() {
		shown = append(shown, "\t"+dp.Decimal(spent.LossPico, 12)+"\t"+dp.Decimal(filter.Remaining(spent), 12))
	}
	return shown, nil
}

// appendText writes a value for COPY.
func appendText(out []byte, text string, ok bool) []byte {
	if !ok {
		return append(out, `\N`...)
	}
	for i := range len(text) {
		switch b := text[i]; b {
		case '\\':
			out = append(out, `\\`...)
		case '\n':
			out = append(out, `\n`...)
		case '\r':
			out = append(out, `\r`...)
		case '\t':
			out = append(out, `\t`...)
		default:
			out = append(out, b)
		}
	}
	return out
}

// state names the last survey that the mirror shows.
func (t *shelf) state() string {
	surveys := t.answers.Surveys()
	if len(surveys) == 0 {
		return "0 "
	}
	last := surveys[len(surveys)-1]
	return fmt.Sprintf("%d %s", last.Number, last.Digest)
}

// isShown reports whether the mirror shows all answers.
func (t *shelf) isShown(ctx context.Context) bool {
	conn, err := t.open(ctx)
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	state, err := mirror.LocalState(ctx, conn, t.local.Name.Name)
	return err == nil && state == t.state()
}
