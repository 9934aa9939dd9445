CREATE TABLE "segments" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"filter" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "segments_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
ALTER TABLE "campaigns" ADD COLUMN "segment_id" uuid;--> statement-breakpoint
ALTER TABLE "segments" ADD CONSTRAINT "segments_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "segments_created_index" ON "segments" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
ALTER TABLE "campaigns" ADD CONSTRAINT "campaigns_segment_fk" FOREIGN KEY ("workspace_id","segment_id") REFERENCES "public"."segments"("workspace_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "campaign_recipients_contact_index" ON "campaign_recipients" USING btree ("workspace_id","contact_id");--> statement-breakpoint
CREATE INDEX "campaigns_segment_index" ON "campaigns" USING btree ("workspace_id","segment_id") WHERE "campaigns"."segment_id" is not null;