-- Imports gain what a file says about consent, and a second kind, of suppressions. Workers of the previous release claim no
-- import of this kind, because APIs are upgraded after them.
ALTER TABLE "imports" ADD COLUMN "kind" text DEFAULT 'CONTACTS' NOT NULL;--> statement-breakpoint
ALTER TABLE "imports" ADD COLUMN "row_status" text;--> statement-breakpoint
ALTER TABLE "imports" ADD COLUMN "confirmed" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "imports" ADD COLUMN "opted_out" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "imports" ADD COLUMN "suppressed" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "suppressions_reason_index" ON "suppressions" USING btree ("workspace_id","reason","created_at","id");--> statement-breakpoint
ALTER TABLE "imports" ADD CONSTRAINT "imports_kind_check" CHECK ("imports"."kind" in ('CONTACTS', 'SUPPRESSIONS'));