-- The outbox becomes `work`, and claims move there: see packages/core/src/work/claims.ts.
-- No worker of the release before may run from here on: this fails while one does, and the checks on `status` make its
-- claims fail. Its APIs go on: they insert into, update and delete from the view `outbox`.
DO $migration$ BEGIN
	IF EXISTS (SELECT FROM "workers" WHERE "seen_at" > now() - interval '15 seconds') THEN
		RAISE EXCEPTION 'A worker is alive or was alive in the last 15 seconds: stop all workers, wait 15 seconds and migrate again';
	END IF;
END $migration$;--> statement-breakpoint
-- In the order in which the APIs of the release before lock them.
LOCK TABLE "mails", "imports", "campaign_recipients", "campaign_batches", "outbox" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
ALTER TABLE "outbox" RENAME TO "work";--> statement-breakpoint
ALTER INDEX "outbox_workspace_id_id_pk" RENAME TO "work_workspace_id_id_pk";--> statement-breakpoint
ALTER TABLE "work" DROP CONSTRAINT "outbox_workspace_id_workspaces_id_fk";--> statement-breakpoint
DROP INDEX "outbox_publishing_index";--> statement-breakpoint
ALTER TABLE "work" ALTER COLUMN "queue" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "work" ADD COLUMN "kind" text;--> statement-breakpoint
ALTER TABLE "work" ADD COLUMN "token" uuid;--> statement-breakpoint
ALTER TABLE "work" ADD COLUMN "worker_id" uuid;--> statement-breakpoint
ALTER TABLE "work" ADD COLUMN "claimed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "mails" ADD COLUMN "token" uuid;--> statement-breakpoint
ALTER TABLE "campaign_recipients" ADD COLUMN "token" uuid;--> statement-breakpoint
ALTER TABLE "mails" DROP CONSTRAINT "mails_status_check";--> statement-breakpoint
ALTER TABLE "campaign_batches" DROP CONSTRAINT "campaign_batches_status_check";--> statement-breakpoint
-- The same as in packages/core/src/operations/recovery/name-former-work.ts.
UPDATE "work" SET "kind" = CASE
	WHEN "queue" = 'campaigns' THEN 'CAMPAIGN_BATCH'
	WHEN "queue" = 'imports' THEN 'IMPORT'
	WHEN "queue" = 'mail' THEN CASE WHEN EXISTS (
		SELECT FROM "mails" m WHERE m."workspace_id" = "work"."workspace_id" AND m."id" = "work"."id"
			AND m."kind" IN ('PASSWORD_RESET', 'EMAIL_VERIFICATION')) THEN 'ACCOUNT_MAIL' ELSE 'MAIL' END
	WHEN "id" = "workspace_id" THEN 'CLEAR_WORKSPACE'
	WHEN EXISTS (SELECT FROM "lists" l WHERE l."workspace_id" = "work"."workspace_id" AND l."id" = "work"."id") THEN 'CLEAR_LIST'
	WHEN EXISTS (SELECT FROM "custom_fields" f WHERE f."workspace_id" = "work"."workspace_id" AND f."id" = "work"."id")
		THEN 'CLEAR_CUSTOM_FIELD'
	ELSE 'ERASE_CONTACT' END;--> statement-breakpoint
-- The claims of the release before belong to workers that have ended: the next worker recovers them. Any token will do.
UPDATE "work" w SET "token" = w."id", "worker_id" = m."worker_id", "claimed_at" = w."created_at" FROM "mails" m
WHERE m."workspace_id" = w."workspace_id" AND m."id" = w."id" AND m."status" = 'SENDING' AND m."worker_id" IS NOT NULL;--> statement-breakpoint
UPDATE "mails" SET "status" = 'PENDING', "attempts" = "attempts" - 1 WHERE "status" = 'SENDING';--> statement-breakpoint
UPDATE "work" w SET "token" = w."id", "worker_id" = i."worker_id", "claimed_at" = w."created_at" FROM "imports" i
WHERE i."workspace_id" = w."workspace_id" AND i."id" = w."id" AND i."status" = 'RUNNING' AND i."worker_id" IS NOT NULL;--> statement-breakpoint
UPDATE "work" w SET "token" = w."id", "worker_id" = b."worker_id", "claimed_at" = w."created_at" FROM "campaign_batches" b
WHERE b."workspace_id" = w."workspace_id" AND b."id" = w."id" AND b."status" = 'SENDING' AND b."worker_id" IS NOT NULL;--> statement-breakpoint
UPDATE "campaign_batches" SET "status" = 'PENDING' WHERE "status" = 'SENDING';--> statement-breakpoint
-- Recipients whose batch was released before them.
UPDATE "work" w SET "token" = w."id", "worker_id" = r."worker_id", "claimed_at" = w."created_at" FROM "campaign_recipients" r
WHERE r."workspace_id" = w."workspace_id" AND r."batch_id" = w."id" AND r."status" = 'SENDING' AND r."worker_id" IS NOT NULL;--> statement-breakpoint
DROP INDEX "mails_worker_index";--> statement-breakpoint
DROP INDEX "imports_worker_index";--> statement-breakpoint
DROP INDEX "campaign_batches_worker_index";--> statement-breakpoint
DROP INDEX "campaign_recipients_worker_index";--> statement-breakpoint
ALTER TABLE "work" ADD CONSTRAINT "work_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "work_publishing_index" ON "work" USING btree ("kind","workspace_id","created_at","id");--> statement-breakpoint
CREATE INDEX "work_claims_index" ON "work" USING btree ("worker_id") WHERE "work"."worker_id" is not null;--> statement-breakpoint
CREATE INDEX "work_former_index" ON "work" USING btree ("workspace_id") WHERE "work"."kind" is null;--> statement-breakpoint
ALTER TABLE "work" ADD CONSTRAINT "work_kind_check" CHECK ("work"."kind" in ('ACCOUNT_MAIL', 'MAIL', 'CAMPAIGN_BATCH', 'IMPORT', 'CLEAR_LIST', 'CLEAR_CUSTOM_FIELD', 'ERASE_CONTACT', 'CLEAR_WORKSPACE'));--> statement-breakpoint
ALTER TABLE "mails" ADD CONSTRAINT "mails_status_check" CHECK ("mails"."status" in ('PENDING', 'SENT', 'FAILED', 'INTERRUPTED'));--> statement-breakpoint
ALTER TABLE "campaign_batches" ADD CONSTRAINT "campaign_batches_status_check" CHECK ("campaign_batches"."status" in ('PENDING', 'DONE'));--> statement-breakpoint
CREATE VIEW "outbox" AS SELECT "id", "workspace_id", "queue", "published_at", "request_id", "traceparent", "created_at", "lane", "relayed_epoch", "relayed_at", "relays" FROM "work";
