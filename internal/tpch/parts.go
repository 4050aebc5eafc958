package tpch

import (
	"fmt"

	"dpproxy/internal/demo"
)

func (g *Generator) partTable() demo.Table {
	return demo.Table{
		Name: "part",
		Columns: columns([2]string{"p_partkey", "int"}, [2]string{"p_name", "varchar(55)"}, [2]string{"p_mfgr", "char(25)"},
			[2]string{"p_brand", "char(10)"}, [2]string{"p_type", "varchar(25)"}, [2]string{"p_size", "int"},
			[2]string{"p_container", "char(10)"}, [2]string{"p_retailprice", "numeric(15,2)"}, [2]string{"p_comment", "varchar(23)"}),
		Keys:  []string{"PRIMARY KEY (p_partkey)"},
		Total: int64(g.parts),
		Rows: numbered(g.parts, 9, func(i int, row []any) {
			d := g.die(partStream, i)
			maker := d.between(1, 5)
			row[0], row[1] = i, sentence(d, partNameWords, 5)
			row[2], row[3] = fmt.Sprintf("Manufacturer#%d", maker), fmt.Sprintf("Brand#%d%d", maker, d.between(1, 5))
			row[4], row[5] = pick(d, typeKinds)+" "+pick(d, typeFinishes)+" "+pick(d, typeMetals), d.between(1, 50)
			row[6], row[7], row[8] = pick(d, boxSizes)+" "+pick(d, boxKinds), cents(retailPrice(i)), comment(d, 2)
		}),
	}
}

// retailPrice is the price of a part in cents, 900.00 to 2,099.00.
func retailPrice(part int) int { return 90_000 + part/10%20_001 + 100*(part%1_000) }

// suppliersOfPart is how many suppliers a part has.
const suppliersOfPart = 4

// supplierOf returns the key of a part's supplier, i of 0 to 3. The suppliers of a
// part are spread over all.
func (g *Generator) supplierOf(part, i int) int {
	return (part+i*(g.suppliers/suppliersOfPart+(part-1)/g.suppliers))%g.suppliers + 1
}

func (g *Generator) supplyTable() demo.Table {
	return demo.Table{
		Name: "partsupp",
		Columns: columns([2]string{"ps_partkey", "int"}, [2]string{"ps_suppkey", "int"}, [2]string{"ps_availqty", "int"},
			[2]string{"ps_supplycost", "numeric(15,2)"}, [2]string{"ps_comment", "varchar(199)"}),
		Keys: []string{
			"PRIMARY KEY (ps_partkey, ps_suppkey)", "FOREIGN KEY (ps_partkey) REFERENCES part",
			"FOREIGN KEY (ps_suppkey) REFERENCES supplier",
		},
		Total: int64(g.parts * suppliersOfPart),
		Rows: numbered(g.parts*suppliersOfPart, 5, func(i int, row []any) {
			d := g.die(supplyStream, i)
			part := (i-1)/suppliersOfPart + 1
			row[0], row[1] = part, g.supplierOf(part, (i-1)%suppliersOfPart)
			row[2], row[3], row[4] = d.between(1, 9_999), cents(d.between(1_00, 1_000_00)), comment(d, 12)
		}),
	}
}
