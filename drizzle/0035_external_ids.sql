CREATE TABLE "external_id_aliases" (
	"workspace_id" uuid NOT NULL,
	"external_id" text NOT NULL,
	"contact_id" uuid NOT NULL,
	CONSTRAINT "external_id_aliases_workspace_id_external_id_pk" PRIMARY KEY("workspace_id","external_id")
);
--> statement-breakpoint
ALTER TABLE "contacts" ADD COLUMN "external_id" text;--> statement-breakpoint
ALTER TABLE "external_id_aliases" ADD CONSTRAINT "external_id_aliases_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "external_id_aliases_contact_index" ON "external_id_aliases" USING btree ("workspace_id","contact_id");--> statement-breakpoint
CREATE UNIQUE INDEX "contacts_external_id_key" ON "contacts" USING btree ("workspace_id","external_id") WHERE "contacts"."external_id" is not null;