-- Facturation en français: clients, contacts, contrats à deux parties, un locataire (tenant) par société.
-- person: client.id_client
-- protected: client, contrat, facture, ligne_facture, paiement, avis, appel
-- reference: adresse, societe
-- others: employe, conge
-- asked: fournisseur, courrier_modele, jeton_api, parrainage
-- public: produit, categorie, taux_tva, pays
-- hidden: client.nom, client.prenom, client.courriel, client.telephone, client.numero_securite_sociale, avis.commentaire, paiement.iban, appel.employe_id, contrat.signe_par
-- open: client.date_naissance, client.sexe, client.ville, client.id_societe, facture.montant, ligne_facture.quantite, contrat.type_contrat, paiement.mode
CREATE TABLE pays (code char(2) PRIMARY KEY, nom text);
CREATE TABLE societe (id_societe int PRIMARY KEY, raison_sociale text, siret text);
CREATE TABLE categorie (id_categorie int PRIMARY KEY, nom text);
CREATE TABLE taux_tva (id_taux int PRIMARY KEY, taux numeric(4,2));
CREATE TABLE produit (id_produit int PRIMARY KEY, nom text, prix numeric(10,2), id_categorie int REFERENCES categorie, id_taux int REFERENCES taux_tva);
CREATE TABLE adresse (id_adresse int PRIMARY KEY, rue text, ville text, code_postal text, pays char(2) REFERENCES pays);
CREATE TABLE employe (employe_id int PRIMARY KEY, nom text, prenom text, salaire numeric);
CREATE TABLE conge (conge_id int PRIMARY KEY, employe_id int REFERENCES employe, debut date, fin date);
CREATE TABLE client (id_client int PRIMARY KEY, id_societe int NOT NULL REFERENCES societe, nom text, prenom text, date_naissance date, sexe char(1), courriel text, telephone text,
  numero_securite_sociale text, ville text, id_adresse int REFERENCES adresse);
CREATE TABLE contrat (id_contrat int PRIMARY KEY, id_client int NOT NULL REFERENCES client, id_societe int REFERENCES societe, type_contrat text, signe_par int REFERENCES employe, debut date);
CREATE TABLE facture (id_facture int PRIMARY KEY, id_contrat int NOT NULL REFERENCES contrat, montant numeric(10,2), jour date);
CREATE TABLE ligne_facture (id_facture int REFERENCES facture, numero_ligne int, id_produit int REFERENCES produit, quantite int, PRIMARY KEY (id_facture, numero_ligne));
CREATE TABLE paiement (id_paiement int PRIMARY KEY, id_facture int NOT NULL REFERENCES facture, montant numeric(10,2), mode text, iban text);
CREATE TABLE avis (id_avis int PRIMARY KEY, id_client int, etoiles int, commentaire text);
CREATE TABLE appel (id_appel int PRIMARY KEY, id_client int REFERENCES client, employe_id int REFERENCES employe, duree int);
CREATE TABLE parrainage (id_parrainage int PRIMARY KEY, parrain_id int REFERENCES client, filleul_id int REFERENCES client);
CREATE TABLE fournisseur (id_fournisseur int PRIMARY KEY, nom text, telephone text);
CREATE TABLE courrier_modele (id_modele int PRIMARY KEY, lettre_id int, contenu text);
CREATE TABLE jeton_api (id int PRIMARY KEY, jeton text);
