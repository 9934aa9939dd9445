CREATE TABLE "form_submissions" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"form_id" uuid NOT NULL,
	"contact_id" uuid,
	"values" json NOT NULL,
	"consents" jsonb NOT NULL,
	"repetition_hash" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "form_submissions_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "form_submissions_repetition_key" UNIQUE("workspace_id","form_id","repetition_hash")
);
--> statement-breakpoint
CREATE TABLE "forms" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"fields" json NOT NULL,
	"list_id" uuid,
	"tags" text[] DEFAULT '{}' NOT NULL,
	"success_message" text NOT NULL,
	"redirect_url" text,
	"enabled" boolean DEFAULT true NOT NULL,
	"spam_count" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "forms_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "forms_id_key" UNIQUE("id")
);
--> statement-breakpoint
DROP INDEX "subscriptions_status_index";--> statement-breakpoint
ALTER TABLE "campaigns" ALTER COLUMN "list_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "lists" ADD COLUMN "deleted_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD COLUMN "confirmations_requested_at" timestamp (3) with time zone[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "form_submissions" ADD CONSTRAINT "form_submissions_form_fk" FOREIGN KEY ("workspace_id","form_id") REFERENCES "public"."forms"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "form_submissions" ADD CONSTRAINT "form_submissions_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "forms" ADD CONSTRAINT "forms_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "forms" ADD CONSTRAINT "forms_list_fk" FOREIGN KEY ("workspace_id","list_id") REFERENCES "public"."lists"("workspace_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "form_submissions_created_index" ON "form_submissions" USING btree ("workspace_id","form_id","created_at","id");--> statement-breakpoint
CREATE INDEX "form_submissions_contact_index" ON "form_submissions" USING btree ("workspace_id","contact_id") WHERE "form_submissions"."contact_id" is not null;--> statement-breakpoint
CREATE INDEX "forms_created_index" ON "forms" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "forms_list_index" ON "forms" USING btree ("workspace_id","list_id") WHERE "forms"."list_id" is not null;--> statement-breakpoint
ALTER TABLE "campaigns" ADD CONSTRAINT "campaigns_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "subscriptions_created_index" ON "subscriptions" USING btree ("workspace_id","list_id","created_at","contact_id");--> statement-breakpoint
CREATE INDEX "subscriptions_status_index" ON "subscriptions" USING btree ("workspace_id","list_id","status","created_at","contact_id");--> statement-breakpoint
-- By hand: what was asked for so far still counts.
UPDATE "subscriptions" SET "confirmations_requested_at" = ARRAY["confirmation_requested_at"] WHERE "confirmation_requested_at" IS NOT NULL;--> statement-breakpoint
ALTER TABLE "subscriptions" DROP COLUMN "confirmation_requested_at";--> statement-breakpoint
-- By hand: a list that goes leaves its campaigns and forms, and only the column that names it is emptied.
ALTER TABLE "campaigns" DROP CONSTRAINT "campaigns_list_fk";--> statement-breakpoint
ALTER TABLE "campaigns" ADD CONSTRAINT "campaigns_list_fk" FOREIGN KEY ("workspace_id","list_id") REFERENCES "public"."lists"("workspace_id","id") ON DELETE SET NULL ("list_id");--> statement-breakpoint
ALTER TABLE "forms" DROP CONSTRAINT "forms_list_fk";--> statement-breakpoint
ALTER TABLE "forms" ADD CONSTRAINT "forms_list_fk" FOREIGN KEY ("workspace_id","list_id") REFERENCES "public"."lists"("workspace_id","id") ON DELETE SET NULL ("list_id");