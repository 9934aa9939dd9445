CREATE TABLE "installation" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"sealed_check" text NOT NULL,
	CONSTRAINT "installation_id_check" CHECK ("installation"."id" = 1)
);
