package words_test

import (
	"strings"
	"testing"

	"dpproxy/suggest/words"
)

// TestSplit takes names apart: each with a twin that looks like it.
func TestSplit(t *testing.T) {
	for name, want := range map[string]string{
		"first_name": "first name", "FirstName": "first name", "firstname": "first name", "passwordhash": "password hash",
		"shoppingcartitem": "shopping cart item", "owneruserid": "owner user id", "patientunitstayid": "patient unit stay id",
		"customers": "customer", "people": "person", "children": "child", "Kunden": "kunde", "kundennummer": "kunde nummer",
		"authdata": "auth data", "relateduserid": "related user id", "lastnamephonetic": "last name phone tic",
		"xyzhash": "xyz hash", "monkey": "monkey",
		"Schüler": "schueler", "schuler": "schueler", "SCHÜLER": "schueler", "Bürger": "buerger", "élèves": "eleve",
		"date_of_birth":   "date birth",
		"datedenaissance": "datede naissance", "usuários": "usuario", "leerlingen": "leerling", "Gäste": "gast", "gaeste": "gast",
		"address1": "address", "categories": "category", "statuses": "status", "addresses": "address", "bankcustomer": "bank customer",
		"customerxref": "customer xref", "coverage": "coverage", "postage": "postage", "membership": "membership", "valid": "valid",
		"userID": "user id", "URLPath": "url path", "id_customer": "id customer", "geburtsdatum": "geburtsdatum", "": "",
		"kundenadresse": "kunde adresse", "Имя": "имя", "of": "of", "c_custkey": "c cust key", "android": "android",
		"isactive": "is active",
	} {
		if got := strings.Join(words.Split(name), " "); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestGroups: words are found in the languages, and those like them are not.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		group   string
		yes, no []string
	}{
		{words.Served, []string{"patients", "Kunden", "élèves", "usuarios", "alunos", "klanten"}, []string{
			"kind", "burger",
			"subject", "personal",
		}},
		{words.Staff, []string{"employees", "Mitarbeiter", "employés", "empleados", "funcionários", "medewerkers"}, []string{
			"arts",
			"guide",
		}},
		{words.PersonName, []string{
			"first_name", "Vorname", "prénom", "apellidos", "sobrenome", "achternaam",
			"lastname",
		}, []string{"name", "file_name"}},
		{words.Birth, []string{"date_of_birth", "geburtsdatum", "naissance", "nacimiento", "geboortedatum", "age"}, []string{
			"stage",
			"page_count",
		}},
		{words.Password, []string{"password_hash", "Kennwort", "mot_de_passe", "contraseña", "senha"}, []string{"passage", "passing"}},
		{words.Street, []string{"street", "straße", "STRASSE", "rue", "calle", "straat"}, []string{"strength", "stress"}},
	} {
		for _, name := range c.yes {
			if !words.Has(words.Split(name), c.group) {
				t.Errorf("%s is no %s: %v", name, c.group, words.Split(name))
			}
		}
		for _, name := range c.no {
			if words.Has(words.Split(name), c.group) {
				t.Errorf("%s is a %s", name, c.group)
			}
		}
	}
}
