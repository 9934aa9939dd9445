CREATE TABLE "mail_requests" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"address_hash" text NOT NULL,
	"list_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "mail_requests_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "sender_domains" (
	"workspace_id" uuid NOT NULL,
	"domain" text NOT NULL,
	CONSTRAINT "sender_domains_workspace_id_domain_pk" PRIMARY KEY("workspace_id","domain")
);
--> statement-breakpoint
CREATE TABLE "erasures" (
	"workspace_id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	"encrypted_identity" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "erasures_workspace_id_contact_id_pk" PRIMARY KEY("workspace_id","contact_id")
);
--> statement-breakpoint
ALTER TABLE "imports" DROP CONSTRAINT "imports_status_check";--> statement-breakpoint
DROP INDEX "mails_invites_index";--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "quotas" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "suspended_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD COLUMN "consent" jsonb;--> statement-breakpoint
ALTER TABLE "campaigns" ADD COLUMN "body_bytes" integer GENERATED ALWAYS AS (coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)) STORED NOT NULL;--> statement-breakpoint
ALTER TABLE "mail_requests" ADD CONSTRAINT "mail_requests_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sender_domains" ADD CONSTRAINT "sender_domains_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "erasures" ADD CONSTRAINT "erasures_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "mail_requests_address_index" ON "mail_requests" USING btree ("workspace_id","address_hash","kind","created_at");--> statement-breakpoint
CREATE INDEX "mail_requests_kind_index" ON "mail_requests" USING btree ("workspace_id","kind","created_at");--> statement-breakpoint
CREATE INDEX "mail_requests_created_index" ON "mail_requests" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "sender_domains_domain_index" ON "sender_domains" USING btree ("domain");--> statement-breakpoint
CREATE INDEX "mails_address_index" ON "mails" USING btree ("workspace_id",lower("to_address"));--> statement-breakpoint
ALTER TABLE "imports" ADD CONSTRAINT "imports_status_check" CHECK ("imports"."status" in ('RECEIVING', 'QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELED'));--> statement-breakpoint
-- An API key is never above the member who created it.
UPDATE "api_keys" SET "role" = "members"."role"
FROM "members"
WHERE "members"."workspace_id" = "api_keys"."workspace_id" AND "members"."user_id" = "api_keys"."created_by"
  AND array_position(ARRAY['VIEWER', 'MEMBER', 'ADMIN', 'OWNER'], "members"."role")
    < array_position(ARRAY['VIEWER', 'MEMBER', 'ADMIN', 'OWNER'], "api_keys"."role");
