CREATE TABLE "mail_reports" (
	"workspace_id" uuid NOT NULL,
	"fingerprint" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "mail_reports_workspace_id_fingerprint_pk" PRIMARY KEY("workspace_id","fingerprint")
);
--> statement-breakpoint
CREATE TABLE "suppressions" (
	"workspace_id" uuid NOT NULL,
	"email_hash" text NOT NULL,
	"status" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "suppressions_workspace_id_email_hash_pk" PRIMARY KEY("workspace_id","email_hash"),
	CONSTRAINT "suppressions_status_check" CHECK ("suppressions"."status" in ('BOUNCED', 'COMPLAINED'))
);
--> statement-breakpoint
DROP INDEX "campaign_batches_open_index";--> statement-breakpoint
ALTER TABLE "campaign_batches" ADD COLUMN "sent" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaign_batches" ADD COLUMN "failed" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaign_batches" ADD COLUMN "skipped" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaign_batches" ADD COLUMN "interrupted" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaign_batches" ADD COLUMN "opened" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaign_batches" ADD COLUMN "clicked" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaign_batches" ADD COLUMN "unsubscribed" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaign_batches" ADD COLUMN "bounced" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaign_batches" ADD COLUMN "complained" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaign_recipients" ADD COLUMN "opened_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "campaign_recipients" ADD COLUMN "clicked_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "campaign_recipients" ADD COLUMN "unsubscribed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "campaign_recipients" ADD COLUMN "bounced_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "campaign_recipients" ADD COLUMN "complained_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "campaigns" ADD COLUMN "pause_reason" text;--> statement-breakpoint
ALTER TABLE "mail_reports" ADD CONSTRAINT "mail_reports_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "suppressions" ADD CONSTRAINT "suppressions_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "mail_reports_created_index" ON "mail_reports" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "campaign_batches_campaign_index" ON "campaign_batches" USING btree ("workspace_id","campaign_id");--> statement-breakpoint
CREATE INDEX "campaign_recipients_created_index" ON "campaign_recipients" USING btree ("workspace_id","campaign_id","created_at","contact_id");--> statement-breakpoint
CREATE INDEX "campaign_recipients_status_index" ON "campaign_recipients" USING btree ("workspace_id","campaign_id","status","created_at","contact_id");--> statement-breakpoint
CREATE INDEX "campaign_batches_open_index" ON "campaign_batches" USING btree ("workspace_id","campaign_id","id") WHERE "campaign_batches"."status" <> 'DONE';