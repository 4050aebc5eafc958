package tpch

import (
	"fmt"

	"dpproxy/internal/demo"
)

var regions = []string{"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"}

// nations are the nations by key, each with the key of its region.
var nations = []struct {
	name   string
	region int
}{
	{"ALGERIA", 0},
	{"ARGENTINA", 1},
	{"BRAZIL", 1},
	{"CANADA", 1},
	{"EGYPT", 4},
	{"ETHIOPIA", 0},
	{"FRANCE", 3},
	{"GERMANY", 3},
	{"INDIA", 2},
	{"INDONESIA", 2},
	{"IRAN", 4},
	{"IRAQ", 4},
	{"JAPAN", 2},
	{"JORDAN", 4},
	{"KENYA", 0},
	{"MOROCCO", 0},
	{"MOZAMBIQUE", 0},
	{"PERU", 1},
	{"CHINA", 2},
	{"ROMANIA", 3},
	{"SAUDI ARABIA", 4},
	{"VIETNAM", 2},
	{"RUSSIA", 3},
	{"UNITED KINGDOM", 3},
	{"UNITED STATES", 1},
}

func regionTable() demo.Table {
	return demo.Table{
		Name:    "region",
		Columns: columns([2]string{"r_regionkey", "int"}, [2]string{"r_name", "char(25)"}, [2]string{"r_comment", "varchar(152)"}),
		Keys:    []string{"PRIMARY KEY (r_regionkey)"},
		Total:   int64(len(regions)),
		Rows: numbered(len(regions), 3, func(i int, row []any) {
			row[0], row[1], row[2] = i-1, regions[i-1], "one of five"
		}),
	}
}

func nationTable() demo.Table {
	return demo.Table{
		Name: "nation",
		Columns: columns([2]string{"n_nationkey", "int"}, [2]string{"n_name", "char(25)"},
			[2]string{"n_regionkey", "int"}, [2]string{"n_comment", "varchar(152)"}),
		Keys:  []string{"PRIMARY KEY (n_nationkey)", "FOREIGN KEY (n_regionkey) REFERENCES region"},
		Total: int64(len(nations)),
		Rows: numbered(len(nations), 4, func(i int, row []any) {
			n := nations[i-1]
			row[0], row[1], row[2], row[3] = i-1, n.name, n.region, "one of twenty-five"
		}),
	}
}

func (g *Generator) supplierTable() demo.Table {
	return demo.Table{
		Name: "supplier",
		Columns: columns([2]string{"s_suppkey", "int"}, [2]string{"s_name", "char(25)"}, [2]string{"s_address", "varchar(40)"},
			[2]string{"s_nationkey", "int"}, [2]string{"s_phone", "char(15)"}, [2]string{"s_acctbal", "numeric(15,2)"},
			[2]string{"s_comment", "varchar(101)"}),
		Keys:  []string{"PRIMARY KEY (s_suppkey)", "FOREIGN KEY (s_nationkey) REFERENCES nation"},
		Total: int64(g.suppliers),
		Rows: numbered(g.suppliers, 7, func(i int, row []any) {
			d := g.die(supplierStream, i)
			nation := d.between(0, len(nations)-1)
			row[0], row[1], row[2], row[3] = i, fmt.Sprintf("Supplier#%09d", i), address(d), nation
			row[4], row[5], row[6] = phone(d, nation), balance(d), comment(d, 8)
		}),
	}
}

func (g *Generator) customerTable() demo.Table {
	return demo.Table{
		Name: "customer",
		Columns: columns([2]string{"c_custkey", "int"}, [2]string{"c_name", "varchar(25)"}, [2]string{"c_address", "varchar(40)"},
			[2]string{"c_nationkey", "int"}, [2]string{"c_phone", "char(15)"}, [2]string{"c_acctbal", "numeric(15,2)"},
			[2]string{"c_mktsegment", "char(10)"}, [2]string{"c_comment", "varchar(117)"}),
		Keys:  []string{"PRIMARY KEY (c_custkey)", "FOREIGN KEY (c_nationkey) REFERENCES nation"},
		Total: int64(g.customers),
		Rows: numbered(g.customers, 8, func(i int, row []any) {
			d := g.die(customerStream, i)
			nation := d.between(0, len(nations)-1)
			row[0], row[1], row[2], row[3] = i, fmt.Sprintf("Customer#%09d", i), address(d), nation
			row[4], row[5], row[6], row[7] = phone(d, nation), balance(d), pick(d, segments), comment(d, 9)
		}),
	}
}
