CREATE TYPE "Degree" AS ENUM ('bachelor', 'master', 'doctorate');
CREATE TYPE method AS ENUM ('card', 'transfer', 'cash');
CREATE DOMAIN percent AS numeric(5,2) CHECK (VALUE >= 0 AND VALUE <= 100);

CREATE TABLE "Departments" (
  "Id" smallint PRIMARY KEY,
  "Name" text NOT NULL,
  faculty text NOT NULL
);

CREATE TABLE courses (
  department smallint REFERENCES "Departments",
  number int,
  title text NOT NULL,
  credits int NOT NULL CHECK (credits BETWEEN 1 AND 30),
  PRIMARY KEY (department, number)
);

CREATE TABLE "Students" (
  id uuid PRIMARY KEY,
  "FamilyName" text NOT NULL,
  email text UNIQUE,
  born date CHECK (born >= '1930-01-01' AND born <= '2010-12-31'),
  degree "Degree" NOT NULL,
  department smallint NOT NULL REFERENCES "Departments",
  sex char(1) CHECK (sex IN ('f', 'm', 'x')),
  abroad boolean NOT NULL DEFAULT false,
  commute_km double precision,
  profile jsonb NOT NULL DEFAULT '{}',
  mentor uuid REFERENCES "Students"
);

CREATE TABLE enrollments (
  student uuid REFERENCES "Students",
  department smallint,
  number int,
  term text CHECK (term IN ('2023S', '2023W', '2024S', '2024W')),
  grade percent,
  PRIMARY KEY (student, department, number, term),
  FOREIGN KEY (department, number) REFERENCES courses
);

-- Its foreign key to enrollments contains the student.
CREATE TABLE submissions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  student uuid NOT NULL REFERENCES "Students",
  department smallint NOT NULL,
  number int NOT NULL,
  term text NOT NULL,
  points int CHECK (points >= 0),
  bonus int NOT NULL DEFAULT 0 CHECK (bonus BETWEEN 0 AND 10),
  total int GENERATED ALWAYS AS (points + bonus) STORED,
  handed_in timestamptz NOT NULL,
  remark text,
  FOREIGN KEY (student, department, number, term) REFERENCES enrollments
);

CREATE TABLE payments (
  payment_id uuid,
  paid_at date,
  student uuid NOT NULL REFERENCES "Students",
  amount numeric(10,2) NOT NULL CHECK (amount > 0 AND amount <= 5000),
  method method NOT NULL,
  PRIMARY KEY (payment_id, paid_at)
) PARTITION BY RANGE (paid_at);
CREATE TABLE payments_2023 PARTITION OF payments FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');
CREATE TABLE payments_2024 PARTITION OF payments FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');

-- Hangs on a partitioned table by a key of two columns.
CREATE TABLE refunds (
  id uuid PRIMARY KEY,
  payment_id uuid NOT NULL,
  paid_at date NOT NULL,
  amount numeric(10,2) NOT NULL,
  reason text,
  FOREIGN KEY (payment_id, paid_at) REFERENCES payments
);

-- Rows about two people.
CREATE TABLE messages (
  id bigserial PRIMARY KEY,
  sender uuid NOT NULL REFERENCES "Students",
  receiver uuid NOT NULL REFERENCES "Students",
  sent_at timestamp NOT NULL,
  body text
);

CREATE VIEW graduates AS SELECT s.id, s.born, s.degree FROM "Students" s WHERE s.degree <> 'bachelor';
CREATE VIEW mail_list AS SELECT s.id, s.email FROM "Students" s WHERE s.email LIKE '%@%';
CREATE VIEW catalogue AS SELECT d.faculty, c.title, c.credits FROM courses c JOIN "Departments" d ON d."Id" = c.department;
