package accountant

// A Survey is a question that the objects of a local table have answered, each with noise of its own. The answers are
// in a file: the entry that has the digest of the file makes them the only ones that there will ever be.
type Survey struct {
	// Table is schema.table.
	Table string
	// Number counts the surveys of the table from 1 on.
	Number int64
	// Question is the text of the question, and of the condition on public columns if there is one.
	Question, Where string
	// EpsilonPico is what an object that answered has spent, in 10⁻¹².
	EpsilonPico int64
	// Epoch is that of the table when it was asked.
	Epoch int64
	// Analyst who asked.
	Analyst string
	// Objects are those that the file speaks of, asked or not.
	Objects int64
	// Digest is the SHA-256 of the file in hexadecimal.
	Digest string
}
