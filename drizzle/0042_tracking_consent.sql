-- Tracking with the person's consent. Every workspace starts with ANONYMOUS: one that recorded opens and clicks of people
-- without asking them keeps doing so only if it sets PERSON. The columns of recipients stay null for emails that were
-- sent before.
CREATE TABLE "tracking_consents" (
	"workspace_id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	"opens" text,
	"clicks" text,
	"opens_denied_at" timestamp (3) with time zone,
	"clicks_denied_at" timestamp (3) with time zone,
	"proofs" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tracking_consents_workspace_id_contact_id_pk" PRIMARY KEY("workspace_id","contact_id"),
	CONSTRAINT "tracking_consents_opens_check" CHECK ("tracking_consents"."opens" in ('GRANTED', 'DENIED')),
	CONSTRAINT "tracking_consents_clicks_check" CHECK ("tracking_consents"."clicks" in ('GRANTED', 'DENIED'))
);
--> statement-breakpoint
CREATE TABLE "tracking_denials" (
	"workspace_id" uuid NOT NULL,
	"email_hash" text NOT NULL,
	"action" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tracking_denials_workspace_id_email_hash_action_pk" PRIMARY KEY("workspace_id","email_hash","action"),
	CONSTRAINT "tracking_denials_action_check" CHECK ("tracking_denials"."action" in ('opens', 'clicks'))
);
--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "tracking_without_consent" text DEFAULT 'ANONYMOUS' NOT NULL;--> statement-breakpoint
ALTER TABLE "campaign_batches" ADD COLUMN "anonymous_opens" integer DEFAULT 0 NOT NULL,
	ADD COLUMN "anonymous_clicks" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaign_recipients" ADD COLUMN "opens_tracked" boolean,
	ADD COLUMN "clicks_tracked" boolean;--> statement-breakpoint
ALTER TABLE "tracking_consents" ADD CONSTRAINT "tracking_consents_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tracking_denials" ADD CONSTRAINT "tracking_denials_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspaces" ADD CONSTRAINT "workspaces_tracking_check" CHECK ("workspaces"."tracking_without_consent" in ('OFF', 'ANONYMOUS', 'PERSON'));