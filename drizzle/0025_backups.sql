CREATE TABLE "backups" (
	"file_name" text PRIMARY KEY NOT NULL,
	"bytes" bigint NOT NULL,
	"duration_ms" integer NOT NULL,
	"is_encrypted" boolean NOT NULL,
	"is_verified" boolean NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
