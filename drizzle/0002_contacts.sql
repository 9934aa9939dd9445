CREATE TABLE "contact_aliases" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"contact_id" uuid NOT NULL,
	CONSTRAINT "contact_aliases_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "custom_fields" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"key" text NOT NULL,
	"label" text NOT NULL,
	"type" text NOT NULL,
	"options" text[] DEFAULT '{}' NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "custom_fields_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "custom_fields_key_key" UNIQUE("workspace_id","key"),
	CONSTRAINT "custom_fields_type_check" CHECK ("custom_fields"."type" in ('TEXT', 'NUMBER', 'BOOLEAN', 'DATE', 'SELECT'))
);
--> statement-breakpoint
CREATE TABLE "import_parts" (
	"workspace_id" uuid NOT NULL,
	"import_id" uuid NOT NULL,
	"position" bigint NOT NULL,
	"bytes" "bytea" NOT NULL,
	CONSTRAINT "import_parts_workspace_id_import_id_position_pk" PRIMARY KEY("workspace_id","import_id","position")
);
--> statement-breakpoint
CREATE TABLE "import_seen" (
	"workspace_id" uuid NOT NULL,
	"import_id" uuid NOT NULL,
	"email_hash" bigint NOT NULL,
	CONSTRAINT "import_seen_workspace_id_import_id_email_hash_pk" PRIMARY KEY("workspace_id","import_id","email_hash")
);
--> statement-breakpoint
CREATE TABLE "imports" (
	"workspace_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"status" text NOT NULL,
	"format" text NOT NULL,
	"layout" jsonb,
	"on_conflict" text NOT NULL,
	"list_id" uuid,
	"dry_run" boolean NOT NULL,
	"each_event" boolean NOT NULL,
	"processed" integer DEFAULT 0 NOT NULL,
	"created" integer DEFAULT 0 NOT NULL,
	"updated" integer DEFAULT 0 NOT NULL,
	"skipped" integer DEFAULT 0 NOT NULL,
	"failed" integer DEFAULT 0 NOT NULL,
	"errors" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"size" bigint DEFAULT 0 NOT NULL,
	"position" bigint NOT NULL,
	"line" integer NOT NULL,
	"worker_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"received_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"completed_at" timestamp (3) with time zone,
	CONSTRAINT "imports_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "imports_status_check" CHECK ("imports"."status" in ('RECEIVING', 'QUEUED', 'RUNNING', 'COMPLETED', 'FAILED'))
);
--> statement-breakpoint
CREATE TABLE "opt_outs" (
	"workspace_id" uuid NOT NULL,
	"list_id" uuid NOT NULL,
	"email_hash" text NOT NULL,
	"status" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "opt_outs_workspace_id_list_id_email_hash_pk" PRIMARY KEY("workspace_id","list_id","email_hash")
);
--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "contact_id" uuid;--> statement-breakpoint
ALTER TABLE "contact_aliases" ADD CONSTRAINT "contact_aliases_contact_fk" FOREIGN KEY ("workspace_id","contact_id") REFERENCES "public"."contacts"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "custom_fields" ADD CONSTRAINT "custom_fields_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "import_parts" ADD CONSTRAINT "import_parts_import_fk" FOREIGN KEY ("workspace_id","import_id") REFERENCES "public"."imports"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "import_seen" ADD CONSTRAINT "import_seen_import_fk" FOREIGN KEY ("workspace_id","import_id") REFERENCES "public"."imports"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "imports" ADD CONSTRAINT "imports_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "opt_outs" ADD CONSTRAINT "opt_outs_list_fk" FOREIGN KEY ("workspace_id","list_id") REFERENCES "public"."lists"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "contact_aliases_contact_index" ON "contact_aliases" USING btree ("workspace_id","contact_id");--> statement-breakpoint
CREATE INDEX "custom_fields_created_index" ON "custom_fields" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "imports_created_index" ON "imports" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "imports_worker_index" ON "imports" USING btree ("worker_id") WHERE "imports"."status" = 'RUNNING';--> statement-breakpoint
CREATE INDEX "imports_receiving_index" ON "imports" USING btree ("received_at") WHERE "imports"."status" = 'RECEIVING';--> statement-breakpoint
CREATE INDEX "contacts_status_index" ON "contacts" USING btree ("workspace_id","email_subscribed_status","created_at","id");--> statement-breakpoint
CREATE INDEX "contacts_source_index" ON "contacts" USING btree ("workspace_id","source","created_at","id");--> statement-breakpoint
CREATE INDEX "contacts_activity_index" ON "contacts" USING btree ("workspace_id",coalesce("last_activity_at", '-infinity'::timestamptz),"id");--> statement-breakpoint
CREATE INDEX "contacts_search_index" ON "contacts" USING gin ("workspace_id",(lower("first_name" || ' ' || "last_name" || ' ' || "email" || ' ' || coalesce("company", '') || ' ' || coalesce("phone", ''))) gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "contacts_tags_index" ON "contacts" USING gin ("workspace_id","tags");--> statement-breakpoint
CREATE INDEX "contacts_custom_fields_index" ON "contacts" USING gin ("workspace_id","custom_field_values" jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "events_contact_index" ON "events" USING btree ("workspace_id","contact_id","created_at","id") WHERE "events"."contact_id" is not null;