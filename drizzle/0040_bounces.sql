CREATE TABLE "soft_bounces" (
	"workspace_id" uuid NOT NULL,
	"email_hash" text NOT NULL,
	"mailed_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "soft_bounces_workspace_id_email_hash_mailed_at_pk" PRIMARY KEY("workspace_id","email_hash","mailed_at")
);
--> statement-breakpoint
ALTER TABLE "campaign_recipients" ADD COLUMN "bounce_class" text;--> statement-breakpoint
ALTER TABLE "campaign_recipients" ADD COLUMN "bounce_code" text;--> statement-breakpoint
ALTER TABLE "campaigns" ADD COLUMN "rates_accepted_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "soft_bounces" ADD CONSTRAINT "soft_bounces_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "soft_bounces_mailed_index" ON "soft_bounces" USING btree ("mailed_at");--> statement-breakpoint
CREATE INDEX "campaign_recipients_bounce_index" ON "campaign_recipients" USING btree ("workspace_id","campaign_id","bounce_class","created_at") WHERE "campaign_recipients"."bounce_class" is not null;--> statement-breakpoint
ALTER TABLE "campaign_recipients" ADD CONSTRAINT "campaign_recipients_bounce_class_check" CHECK ("campaign_recipients"."bounce_class" in ('HARD', 'SOFT', 'MESSAGE', 'POLICY'));