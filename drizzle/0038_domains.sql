CREATE TABLE "domains" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"keys" jsonb NOT NULL,
	"checks" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"checked_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "domains_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "domains_name_key" UNIQUE("workspace_id","name"),
	CONSTRAINT "domains_status_check" CHECK ("domains"."status" in ('PENDING', 'VERIFIED', 'FAILED'))
);
--> statement-breakpoint
ALTER TABLE "domains" ADD CONSTRAINT "domains_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "domains_created_index" ON "domains" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "domains_checked_index" ON "domains" USING btree ("checked_at");