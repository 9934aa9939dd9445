-- Suppressions become a resource: with an id, all reasons, and the contact. The previous release still writes
-- `status` alone, so `reason` and `source` are derived from what is there.
ALTER TABLE "suppressions" DROP CONSTRAINT "suppressions_status_check";--> statement-breakpoint
ALTER TABLE "subscriptions" ADD COLUMN "replaced_status" text;--> statement-breakpoint
-- In one statement, which rewrites the table once.
ALTER TABLE "suppressions" ADD COLUMN "id" uuid DEFAULT uuidv7() NOT NULL,
	ADD COLUMN "contact_id" uuid,
	ADD COLUMN "reasons" jsonb DEFAULT '[]'::jsonb NOT NULL,
	ADD COLUMN "note" text,
	ADD COLUMN "reason" text GENERATED ALWAYS AS (case when status = 'COMPLAINED' then status else coalesce(reasons #>> '{0,reason}', status) end) STORED NOT NULL,
	ADD COLUMN "source" text GENERATED ALWAYS AS (coalesce(reasons #>> '{0,source}', 'MAIL_EVENT')) STORED NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "suppressions_id_key" ON "suppressions" USING btree ("workspace_id","id");--> statement-breakpoint
CREATE INDEX "suppressions_created_index" ON "suppressions" USING btree ("workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "suppressions_contact_index" ON "suppressions" USING btree ("workspace_id","contact_id") WHERE "suppressions"."contact_id" is not null;--> statement-breakpoint
ALTER TABLE "suppressions" ADD CONSTRAINT "suppressions_status_check" CHECK ("suppressions"."status" in ('UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'));--> statement-breakpoint
-- A merge of the previous release could hide an opt-out behind a bounce. These contacts count as opted out.
UPDATE "subscriptions" s SET "unsubscribed_at" = s."created_at"
WHERE s."status" = 'BOUNCED' AND s."unsubscribed_at" IS NULL AND EXISTS (
	SELECT FROM "contact_aliases" a WHERE a."workspace_id" = s."workspace_id" AND a."contact_id" = s."contact_id");
