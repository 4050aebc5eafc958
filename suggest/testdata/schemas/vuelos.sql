-- Una aerolínea en español: pasajeros sin tabla; reservas, vuelos, asientos. (A column without a table.)
-- person: billete.pasajero_id
-- protected: billete, tramo, tarjeta_embarque, equipaje
-- reference: reserva
-- others: tripulante
-- asked: incidencia
-- public: aeropuerto, avion, asiento, vuelo, tarifa
-- hidden: billete.pasajero_nombre, billete.contacto_telefono, billete.documento_identidad
-- open: tramo.clase, tramo.importe, equipaje.peso, billete.pasajero_id
CREATE TABLE aeropuerto (codigo char(3) PRIMARY KEY, nombre text, ciudad text);
CREATE TABLE avion (avion_id int PRIMARY KEY, modelo text, alcance int);
CREATE TABLE asiento (avion_id int REFERENCES avion, fila int, letra char(1), PRIMARY KEY (avion_id, fila, letra));
CREATE TABLE vuelo (vuelo_id int PRIMARY KEY, origen char(3) REFERENCES aeropuerto, destino char(3) REFERENCES aeropuerto, avion_id int REFERENCES avion, sale timestamp);
CREATE TABLE tarifa (tarifa_id int PRIMARY KEY, clase text, precio numeric(8,2));
CREATE TABLE tripulante (empleado_no int PRIMARY KEY, nombre text, apellido text, fecha_nacimiento date);
CREATE TABLE reserva (reserva_ref char(6) PRIMARY KEY, fecha date, total numeric(10,2));
CREATE TABLE billete (billete_no char(13) PRIMARY KEY, reserva_ref char(6) NOT NULL REFERENCES reserva, pasajero_id varchar(20) NOT NULL, pasajero_nombre text, contacto_telefono text, documento_identidad text);
CREATE TABLE tramo (billete_no char(13) REFERENCES billete, vuelo_id int REFERENCES vuelo, clase text, importe numeric(8,2), PRIMARY KEY (billete_no, vuelo_id));
CREATE TABLE tarjeta_embarque (billete_no char(13), vuelo_id int, puerta text, fila int, PRIMARY KEY (billete_no, vuelo_id), FOREIGN KEY (billete_no, vuelo_id) REFERENCES tramo);
CREATE TABLE equipaje (equipaje_id int PRIMARY KEY, billete_no char(13) NOT NULL REFERENCES billete, peso numeric(5,1));
CREATE TABLE incidencia (incidencia_id int PRIMARY KEY, billete_no char(13), descripcion text);
