CREATE TABLE "deal_moves" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"deal_id" uuid NOT NULL,
	"from_pipeline_id" uuid NOT NULL,
	"from_stage_id" uuid NOT NULL,
	"from_status" text NOT NULL,
	"to_pipeline_id" uuid NOT NULL,
	"to_stage_id" uuid NOT NULL,
	"to_status" text NOT NULL,
	"user_id" uuid,
	"api_key_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "deal_moves_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "deals" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"pipeline_id" uuid NOT NULL,
	"stage_id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	"name" text DEFAULT '' NOT NULL,
	"value_cents" bigint DEFAULT 0 NOT NULL,
	"status" text DEFAULT 'OPEN' NOT NULL,
	"closed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "deals_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "deals_status_check" CHECK ("deals"."status" in ('OPEN', 'WON', 'LOST')),
	CONSTRAINT "deals_closed_check" CHECK (("deals"."status" = 'OPEN') = ("deals"."closed_at" is null)),
	CONSTRAINT "deals_value_check" CHECK ("deals"."value_cents" between 0 and 9007199254740991)
);
--> statement-breakpoint
CREATE TABLE "tasks" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	"title" text NOT NULL,
	"notes" text DEFAULT '' NOT NULL,
	"status" text DEFAULT 'OPEN' NOT NULL,
	"due_at" timestamp (3) with time zone,
	"assignee_id" uuid,
	"completed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tasks_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "tasks_status_check" CHECK ("tasks"."status" in ('OPEN', 'DONE')),
	CONSTRAINT "tasks_completed_check" CHECK (("tasks"."status" = 'OPEN') = ("tasks"."completed_at" is null))
);
--> statement-breakpoint
ALTER TABLE "deal_moves" ADD CONSTRAINT "deal_moves_deal_fk" FOREIGN KEY ("workspace_id","deal_id") REFERENCES "public"."deals"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deals" ADD CONSTRAINT "deals_stage_fk" FOREIGN KEY ("workspace_id","pipeline_id","stage_id") REFERENCES "public"."stages"("workspace_id","pipeline_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deals" ADD CONSTRAINT "deals_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_assignee_fk" FOREIGN KEY ("workspace_id","assignee_id") REFERENCES "public"."members"("workspace_id","user_id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deal_moves_deal_index" ON "deal_moves" USING btree ("workspace_id","deal_id","created_at","id");--> statement-breakpoint
CREATE INDEX "deals_created_index" ON "deals" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "deals_updated_index" ON "deals" USING btree ("workspace_id","updated_at","id");--> statement-breakpoint
CREATE INDEX "deals_value_index" ON "deals" USING btree ("workspace_id","value_cents","id");--> statement-breakpoint
CREATE INDEX "deals_closed_index" ON "deals" USING btree ("workspace_id",coalesce("closed_at", '-infinity'::timestamptz),"id");--> statement-breakpoint
CREATE INDEX "deals_status_index" ON "deals" USING btree ("workspace_id","status","created_at","id");--> statement-breakpoint
CREATE INDEX "deals_pipeline_index" ON "deals" USING btree ("workspace_id","pipeline_id","created_at","id");--> statement-breakpoint
CREATE INDEX "deals_stage_index" ON "deals" USING btree ("workspace_id","stage_id","created_at","id");--> statement-breakpoint
CREATE INDEX "deals_contact_index" ON "deals" USING btree ("workspace_id","contact_id","created_at","id");--> statement-breakpoint
CREATE INDEX "deals_open_index" ON "deals" USING btree ("workspace_id","pipeline_id","stage_id","value_cents") WHERE "deals"."status" = 'OPEN';--> statement-breakpoint
CREATE INDEX "tasks_created_index" ON "tasks" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "tasks_order_index" ON "tasks" USING btree ("workspace_id",(case when "status" = 'OPEN' then coalesce("due_at", '10000-01-01 00:00:00+00'::timestamptz) else 'infinity'::timestamptz end),"id");--> statement-breakpoint
CREATE INDEX "tasks_due_index" ON "tasks" USING btree ("workspace_id","due_at");--> statement-breakpoint
CREATE INDEX "tasks_contact_index" ON "tasks" USING btree ("workspace_id","contact_id",(case when "status" = 'OPEN' then coalesce("due_at", '10000-01-01 00:00:00+00'::timestamptz) else 'infinity'::timestamptz end),"id");--> statement-breakpoint
CREATE INDEX "tasks_assignee_index" ON "tasks" USING btree ("workspace_id","assignee_id",(case when "status" = 'OPEN' then coalesce("due_at", '10000-01-01 00:00:00+00'::timestamptz) else 'infinity'::timestamptz end),"id");