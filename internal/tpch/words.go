package tpch

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// The domains of clause 4.2.2.13.
var (
	segments     = []string{"AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"}
	priorities   = []string{"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"}
	instructions = []string{"COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"}
	modes        = []string{"AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"}
	typeKinds    = []string{"ECONOMY", "LARGE", "MEDIUM", "PROMO", "SMALL", "STANDARD"}
	typeFinishes = []string{"ANODIZED", "BRUSHED", "BURNISHED", "PLATED", "POLISHED"}
	typeMetals   = []string{"BRASS", "COPPER", "NICKEL", "STEEL", "TIN"}
	boxSizes     = []string{"JUMBO", "LG", "MED", "SM", "WRAP"}
	boxKinds     = []string{"BAG", "BOX", "CAN", "CASE", "DRUM", "JAR", "PACK", "PKG"}
	commentWords = []string{
		"accounts", "above", "bold", "carefully", "deposits", "even", "final", "foxes", "ironic", "packages", "quickly",
		"requests", "slyly", "special", "theodolites", "unusual",
	}
	partNameWords = []string{
		"almond", "azure", "blush", "chiffon", "cornsilk", "drab", "firebrick", "forest", "green", "honeydew", "ivory",
		"khaki", "linen", "maroon", "navajo", "olive", "peru", "plum", "rosy", "sienna", "thistle", "wheat",
	}
)

// comment is as many words as asked for, at most eleven bytes each with the space.
func comment(d *die, words int) string { return sentence(d, commentWords, words) }

func sentence(d *die, from []string, words int) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(pick(d, from))
	}
	return b.String()
}

const addressLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ, "

func address(d *die) string {
	letters := make([]byte, d.between(10, 40))
	for i := range letters {
		letters[i] = addressLetters[d.between(0, len(addressLetters)-1)]
	}
	return string(letters)
}

// phone is a number of clause 4.2.2.9, whose country code tells the nation.
func phone(d *die, nation int) string {
	return fmt.Sprintf("%d-%d-%d-%d", 10+nation, d.between(100, 999), d.between(100, 999), d.between(1000, 9999))
}

func balance(d *die) pgtype.Numeric { return cents(d.between(-999_99, 9_999_99)) }
