-- The URLs for the webhooks of mail providers, and the ids by which their reports find an email. The new columns stay null
-- for emails that were sent before.
CREATE TABLE "mail_hook_tokens" (
	"hook_id" uuid NOT NULL,
	"token_hash" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "mail_hook_tokens_hook_id_token_hash_pk" PRIMARY KEY("hook_id","token_hash")
);
--> statement-breakpoint
CREATE TABLE "mail_hooks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"workspace_id" uuid,
	"provider" text NOT NULL,
	"encrypted_secret" text NOT NULL,
	"last_message_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "mail_hooks_provider_check" CHECK ("mail_hooks"."provider" in ('mailgun', 'postmark', 'resend', 'sendgrid', 'ses'))
);
--> statement-breakpoint
ALTER TABLE "mails" ADD COLUMN "provider_message_hash" uuid;--> statement-breakpoint
ALTER TABLE "campaign_recipients" ADD COLUMN "provider_message_hash" uuid;--> statement-breakpoint
ALTER TABLE "mail_hooks" ADD CONSTRAINT "mail_hooks_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "mail_hook_tokens_created_index" ON "mail_hook_tokens" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "mail_hooks_workspace_index" ON "mail_hooks" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "mails_provider_message_index" ON "mails" USING btree ("provider_message_hash") WHERE "mails"."provider_message_hash" is not null;--> statement-breakpoint
CREATE INDEX "campaign_recipients_provider_message_index" ON "campaign_recipients" USING btree ("provider_message_hash") WHERE "campaign_recipients"."provider_message_hash" is not null;--> statement-breakpoint
CREATE INDEX "campaigns_id_index" ON "campaigns" USING btree ("id");