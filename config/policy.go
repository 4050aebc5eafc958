package config

import (
	"errors"
	"slices"
	"time"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// A Policy is the content of a policy file, checked by itself.
type Policy struct {
	// Listen is host:port.
	Listen string
	// Health is host:port of the pages that say how dpproxy is; empty: none.
	Health string
	// TLSCert and TLSKey are file names, both or none. ClientCA, if set, holds the
	// authorities that sign certificates of clients.
	TLSCert, TLSKey, ClientCA string
	// Data and Mirror are connection URLs without passwords; MirrorAdmin is the
	// one that sync uses, Mirror if it is not set.
	Data, Mirror, MirrorAdmin string
	// DataPasswordFile and MirrorPasswordFile hold the passwords of the connections,
	// where they do not come from the environment.
	DataPasswordFile, MirrorPasswordFile string
	Ledger                               Ledger
	// SecretFile holds the key of contribution bounding and of the mirror's
	// passwords; by default "secret" in the ledger's folder.
	SecretFile string

	// SyncItself says that dpproxy syncs by itself where a change of the schema takes nothing away.
	SyncItself bool

	// Tables is the planner's part of the policy. Listed partitions are in it, each with the
	// keys of its table.
	Tables policy.Policy
	// PartitionOf names the table of each listed partition.
	PartitionOf map[catalog.Name]catalog.Name
	// Local are the tables of the local model.
	Local []policy.LocalTable
	// Views over protected tables stand for their queries.
	Views []View
	// Unlisted says what columns are that their tables do not list, open or hidden; empty: the policy does not say, and they are open.
	Unlisted string
	// MinimumPeople is how many people a group must have by a released count to be shown, 0: no minimum; MinimumConfidence is with which
	// probability one of fewer is withheld.
	MinimumPeople     int64
	MinimumConfidence float64
	// Unit is the privacy unit's budget: the guarantee.
	Unit accountant.Budget
	// TableBudgets are the sub-limits of tables.
	TableBudgets map[catalog.Name]accountant.Budget
	Analysts     []Analyst
	// AuthQuery finds the verifiers of analysts who have none here; nil: there is no query.
	AuthQuery *AuthQuery
	Defaults  Defaults
	// Schemas are the defaults of the tables of single schemas.
	Schemas map[string]SchemaDefaults
	Limits  Limits
	Answers Answers
	// Recycling says that mechanisms may draw noise anew that is out of its bounds.
	Recycling bool
	// Allowances are the further limits of single tables, partitions included.
	Allowances map[catalog.Name]Allowance
	// TableDefaults are the defaults of statements about single tables, partitions included.
	TableDefaults map[catalog.Name]TableDefaults

	source *source
}

// A Ledger says where the ledger is: in a folder, or in a Redis that several
// proxies share.
type Ledger struct {
	// Dir holds the embedded ledger, or this proxy's journal of the one in Redis.
	Dir string
	// Redis is a URL without a password; empty: the embedded ledger. The fields below
	// belong to it.
	Redis string
	// Name of the ledger in Redis.
	Name string
	// PasswordFile holds the password of Redis, where it does not come from the
	// environment.
	PasswordFile string
	// Replicas is how many must have an entry before it counts as written.
	Replicas int
	// AssertedDurable says who vouches for the settings of a Redis that hides
	// them.
	AssertedDurable string
	// Witness is a file, or a connection to a Postgres, that has marks of the ledger beside the mirror.
	Witness string
	// WitnessPasswordFile holds the password of that connection.
	WitnessPasswordFile string
}

// An Analyst is a login.
type Analyst struct {
	Name     string
	Verifier string // SCRAM-SHA-256, in Postgres's form; empty: that of AuthQuery, or none
	// Certificates are the common names of certificates that log in without a
	// password, where there is a ClientCA.
	Certificates []string
	// Tables are the protected tables that they may ask about, with their listed
	// partitions, and views.
	Tables []catalog.Name
	// Local are the local tables that they may ask about.
	Local  []catalog.Name
	Budget *accountant.Budget // nil: only the unit's and the tables' budgets count
	// Settings are session defaults on the mirror, such as dp.epsilon.
	Settings map[string]string
	// Pooled says that a pooler gives the analyst's sessions to other clients between transactions.
	Pooled bool
	// Publishes lets them make tables in the schema published.
	Publishes bool
	Allowance
}

// An Allowance limits statements of one analyst or about one table.
type Allowance struct {
	// MaxEpsilonPico is the most that a statement may spend, in 10⁻¹² of ε; 0: no limit of its own.
	MaxEpsilonPico int64
	// Mechanisms are the allowed ones; nil: all.
	Mechanisms []string
	// MinimumPeople is how many people a group must have by a released count to be shown; 0: no minimum of its own.
	MinimumPeople int64
}

func (a Allowance) none() bool {
	return a.MaxEpsilonPico == 0 && a.Mechanisms == nil && a.MinimumPeople == 0
}

// TableDefaults are settings of statements about a table, where the session did not set them.
// 0 stands for the default of all tables.
type TableDefaults struct {
	EpsilonPico, MaxEpsilonPico   int64
	RelativeError, TargetFraction float64
}

// SchemaDefaults are the defaults of the tables of a schema.
type SchemaDefaults struct {
	Dates *policy.Dates
}

// A View over protected tables has no policy of its own.
type View struct {
	Name catalog.Name
	// Shown says that analysts may see its definition.
	Shown bool
}

// Defaults are the values of settings that a session did not set.
type Defaults struct {
	EpsilonPico int64   // 0.1 unless the policy says otherwise
	Mechanism   string  // "auto"
	Confidence  float64 // 0.95
	// DeltaAtto is spent by a statement on the selection of private groups, in
	// 10⁻¹⁸ of δ; 10⁻¹⁰.
	DeltaAtto int64
	// MaxEpsilonPico is the most that a statement may spend to reach a target; 0: EpsilonPico.
	MaxEpsilonPico int64
	// RelativeError is the error that a statement asks for, 0: none.
	RelativeError float64
	// TargetFraction is the share of the groups that must meet it; 1.
	TargetFraction float64
	// Refine says that remembered measurements are refined; true.
	Refine bool
	// Dates bound the columns of dates of which the policy says nothing else; nil: nothing does.
	Dates *policy.Dates
}

// Limits of the service.
type Limits struct {
	StatementTimeout   time.Duration // of one read of protected data; 30 s
	Connections        int           // sessions; 100
	AnalystConnections int           // sessions of one analyst; as Connections
	AddressConnections int           // sessions from one address; as Connections
	FailedLogins       int           // of one name from one address in a minute; 20
	IdleSession        time.Duration // 24 h
	IdleTransaction    time.Duration // 1 h
	DataConnections    int           // connections to the protected database; 8
	// AnalystDataConnections are the most of one analyst at a time; as DataConnections.
	AnalystDataConnections int
	// DataQueue is how many statements may wait for one; 1,000.
	DataQueue int
	// AnalystDataQueue is how many of these one analyst may have; as DataQueue.
	AnalystDataQueue int
	// AnalystLeftReads is how many reads of one analyst go on that they have paid and left; 2.
	AnalystLeftReads int
	// FoldMemory is how many megabytes rows of people may take in dpproxy, of all reads together; 0 is a quarter of the memory.
	FoldMemory int
	// MaxPublicFanout is how many rows of a public table one row may be joined with
	// unless keys prove fewer; 1,000.
	MaxPublicFanout int64
	// MaxJoinRows is how many rows of one unit a join takes of a table without a number of rows in
	// the policy; 1,000.
	MaxJoinRows int64
	// MaxWork bounds the work that one row of a privacy unit can cause in a statement: the product of the
	// rows that each table may add to it; 1,000,000.
	MaxWork int64
	// ReplyGrid is the first point of time that replies leave at; 20 ms, 0 for none.
	ReplyGrid time.Duration
}

// Scopes returns the limits of the ledger: the unit's, then tables', those of the objects of local tables, then
// analysts'.
func (p *Policy) Scopes() ([]accountant.Limit, error) {
	var out []accountant.Limit
	add := func(kind accountant.ScopeKind, name string, b accountant.Budget) error {
		l, err := b.Limit()
		if err == nil {
			out = append(out, accountant.Limit{Scope: accountant.Scope{Kind: kind, Name: name}, Loss: l})
		}
		return err
	}
	if err := add(accountant.UnitScope, p.Tables.Unit, p.Unit); err != nil {
		return nil, err
	}
	for _, t := range p.Tables.Tables {
		if b, ok := p.TableBudgets[t.Name]; ok {
			if err := add(accountant.TableScope, t.Name.String(), b); err != nil {
				return nil, err
			}
		}
	}
	for _, t := range p.Local {
		l, err := limitOf(t)
		if err != nil {
			return nil, err
		}
		out = append(out, accountant.Limit{Scope: accountant.Scope{Kind: accountant.LocalScope, Name: t.Name.String()}, Loss: l})
	}
	for _, a := range p.Analysts {
		if a.Budget != nil {
			if err := add(accountant.AnalystScope, a.Name, *a.Budget); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Annotate returns an error that shows message where the policy file states path,
// such as tables, public.visits, columns, cost, bounds; or at the nearest key above
// it that the file has. A table is found with and without the schema public.
func (p *Policy) Annotate(path []string, message string) error {
	text := label(path, message)
	if p.source == nil { // a policy that was not read from a file
		return errors.New(redact(text))
	}
	return p.source.show(p.source.fault(p.source.find(path), text))
}

func (p *Policy) table(n catalog.Name) *policy.TablePolicy {
	i := slices.IndexFunc(p.Tables.Tables, func(t policy.TablePolicy) bool { return t.Name == n })
	if i < 0 {
		return nil
	}
	return &p.Tables.Tables[i]
}

// lists reports whether a table, partition or view of that name was read.
func (p *Policy) lists(n catalog.Name) bool {
	return p.table(n) != nil || p.isLocal(n) || slices.ContainsFunc(p.Views, func(v View) bool { return v.Name == n })
}

// isLocal reports whether a local table of that name was read.
func (p *Policy) isLocal(n catalog.Name) bool {
	return slices.ContainsFunc(p.Local, func(t policy.LocalTable) bool { return t.Name == n })
}
