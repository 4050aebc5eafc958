package tpch

import (
	"fmt"
	"iter"
	"time"

	"dpproxy/internal/demo"
)

// The calendar of clause 4.2.2.12.
var (
	startDate   = time.Date(1992, time.January, 1, 0, 0, 0, 0, time.UTC)
	currentDate = time.Date(1995, time.June, 17, 0, 0, 0, 0, time.UTC)
)

// orderDays is how many days orders are placed on: from startDate to 151 days before
// 1998-12-31, so that the last delivery falls into that year.
const orderDays = 2_406

// maxLines is how many lineitems an order has at most.
const maxLines = 7

// An order with its lines.
type order struct {
	key, customer int
	date          time.Time
	lines         []line
	die           *die // for columns on which no line depends
}

// A line is a lineitem. Discount and tax are in hundredths.
type line struct {
	part, supplier, quantity, price, discount, tax int
	ship, commit, receipt                          time.Time
	returned, open                                 string
}

// order makes the order of a number, which begins with 1. It reuses the lines of
// the order that it is given.
func (g *Generator) order(number int, o *order) {
	d := g.die(orderStream, number)
	o.key, o.customer = orderKey(number), g.buyer(d)
	o.date = startDate.AddDate(0, 0, d.between(0, orderDays-1))
	o.lines = o.lines[:0]
	for range d.between(1, maxLines) {
		o.lines = append(o.lines, g.line(d, o.date))
	}
	o.die = d
}

// orderKey uses the first eight of every 32 keys.
func orderKey(number int) int { return (number-1)/8*32 + (number-1)%8 + 1 }

// buyer draws one of the customers who order: two of every three do.
func (g *Generator) buyer(d *die) int {
	i := d.between(0, g.customers*2/3-1)
	return i/2*3 + i%2 + 1
}

func (g *Generator) line(d *die, ordered time.Time) line {
	l := line{part: d.between(1, g.parts), quantity: d.between(1, 50), discount: d.between(0, 10), tax: d.between(0, 8)}
	l.supplier = g.supplierOf(l.part, d.between(0, suppliersOfPart-1))
	l.price = l.quantity * retailPrice(l.part)
	l.ship = ordered.AddDate(0, 0, d.between(1, 121))
	l.commit = ordered.AddDate(0, 0, d.between(30, 90))
	l.receipt = l.ship.AddDate(0, 0, d.between(1, 30))
	l.returned, l.open = "N", "F"
	if !l.receipt.After(currentDate) {
		l.returned = pick(d, []string{"R", "A"})
	}
	if l.ship.After(currentDate) {
		l.open = "O"
	}
	return l
}

// status is F when all lines are shipped, O when none is, else P.
func (o *order) status() string {
	open := 0
	for _, l := range o.lines {
		if l.open == "O" {
			open++
		}
	}
	switch open {
	case 0:
		return "F"
	case len(o.lines):
		return "O"
	}
	return "P"
}

// total is the price of all lines in cents, each with its discount and tax.
func (o *order) total() int {
	sum := 0
	for _, l := range o.lines {
		sum += (l.price*(100-l.discount)*(100+l.tax) + 5_000) / 10_000
	}
	return sum
}

func (g *Generator) orderTable() demo.Table {
	var o order
	return demo.Table{
		Name: "orders",
		Columns: columns([2]string{"o_orderkey", "int"}, [2]string{"o_custkey", "int"}, [2]string{"o_orderstatus", "char(1)"},
			[2]string{"o_totalprice", "numeric(15,2)"}, [2]string{"o_orderdate", "date"}, [2]string{"o_orderpriority", "char(15)"},
			[2]string{"o_clerk", "char(15)"}, [2]string{"o_shippriority", "int"}, [2]string{"o_comment", "varchar(79)"}),
		Keys:    []string{"PRIMARY KEY (o_orderkey)", "FOREIGN KEY (o_custkey) REFERENCES customer"},
		Indexed: []string{"o_custkey"},
		Total:   int64(g.orders),
		Rows: numbered(g.orders, 9, func(i int, row []any) {
			g.order(i, &o)
			row[0], row[1], row[2], row[3], row[4] = o.key, o.customer, o.status(), cents(o.total()), o.date
			row[5], row[6] = pick(o.die, priorities), fmt.Sprintf("Clerk#%09d", o.die.between(1, max(1, g.orders/1_500)))
			row[7], row[8] = 0, comment(o.die, 6)
		}),
	}
}

func (g *Generator) lineTable() demo.Table {
	return demo.Table{
		Name: "lineitem",
		Columns: columns([2]string{"l_orderkey", "int"}, [2]string{"l_partkey", "int"}, [2]string{"l_suppkey", "int"},
			[2]string{"l_linenumber", "int"}, [2]string{"l_quantity", "numeric(15,2)"}, [2]string{"l_extendedprice", "numeric(15,2)"},
			[2]string{"l_discount", "numeric(15,2)"}, [2]string{"l_tax", "numeric(15,2)"}, [2]string{"l_returnflag", "char(1)"},
			[2]string{"l_linestatus", "char(1)"}, [2]string{"l_shipdate", "date"}, [2]string{"l_commitdate", "date"},
			[2]string{"l_receiptdate", "date"}, [2]string{"l_shipinstruct", "char(25)"}, [2]string{"l_shipmode", "char(10)"},
			[2]string{"l_comment", "varchar(44)"}),
		Keys: []string{
			"PRIMARY KEY (l_orderkey, l_linenumber)", "FOREIGN KEY (l_orderkey) REFERENCES orders",
			"FOREIGN KEY (l_partkey, l_suppkey) REFERENCES partsupp", "FOREIGN KEY (l_partkey) REFERENCES part",
			"FOREIGN KEY (l_suppkey) REFERENCES supplier",
		},
		Total: g.lines(),
		Rows:  g.lineRows(),
	}
}

// lines counts the lineitems, by making them.
func (g *Generator) lines() (n int64) {
	var o order
	for i := range g.orders {
		g.order(i+1, &o)
		n += int64(len(o.lines))
	}
	return n
}

func (g *Generator) lineRows() iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		var o order
		row := make([]any, 16)
		for i := range g.orders {
			g.order(i+1, &o)
			for j, l := range o.lines {
				row[0], row[1], row[2], row[3], row[4], row[5] = o.key, l.part, l.supplier, j+1, cents(100*l.quantity), cents(l.price)
				row[6], row[7], row[8], row[9] = cents(l.discount), cents(l.tax), l.returned, l.open
				row[10], row[11], row[12] = l.ship, l.commit, l.receipt
				row[13], row[14], row[15] = pick(o.die, instructions), pick(o.die, modes), comment(o.die, 3)
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}
