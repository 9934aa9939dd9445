-- The deliveries of a webhook are taken from its PENDING rows, by one worker at a time: see packages/core/src/webhooks/drain.
-- No worker of the release before may run from here on: `migrate` refuses while one does, and the check on `status` makes its
-- claims fail.
-- In the order in which the APIs of the release before lock them.
LOCK TABLE "mails", "deliveries", "webhooks", "outbox" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
UPDATE "deliveries" SET "status" = 'INTERRUPTED', "error" = 'The worker died, or lost the database, while it was out' WHERE "status" = 'SENDING';--> statement-breakpoint
-- The PENDING rows are the work themselves.
DELETE FROM "outbox" WHERE "queue" = 'webhooks';--> statement-breakpoint
CREATE TABLE "webhook_drains" (
	"workspace_id" uuid NOT NULL,
	"webhook_id" uuid NOT NULL,
	"worker_id" uuid,
	"token" uuid,
	"delivery_ids" uuid[] DEFAULT '{}' NOT NULL,
	"taken_at" timestamp (3) with time zone,
	"unreachable_count" integer DEFAULT 0 NOT NULL,
	"paused_until" timestamp (3) with time zone,
	"last_success_at" timestamp (3) with time zone,
	"last_failure_at" timestamp (3) with time zone,
	"failing_since" timestamp (3) with time zone,
	"failure_count" integer DEFAULT 0 NOT NULL,
	"warned_at" timestamp (3) with time zone,
	CONSTRAINT "webhook_drains_workspace_id_webhook_id_pk" PRIMARY KEY("workspace_id","webhook_id")
) WITH (fillfactor = 50);
--> statement-breakpoint
ALTER TABLE "deliveries" DROP CONSTRAINT "deliveries_status_check";--> statement-breakpoint
ALTER TABLE "mails" DROP CONSTRAINT "mails_kind_check";--> statement-breakpoint
DROP INDEX "deliveries_webhook_index";--> statement-breakpoint
DROP INDEX "deliveries_event_index";--> statement-breakpoint
DROP INDEX "deliveries_worker_index";--> statement-breakpoint
DROP INDEX "outbox_waiting_index";--> statement-breakpoint
DROP INDEX "outbox_lane_index";--> statement-breakpoint
DROP INDEX "outbox_busy_index";--> statement-breakpoint
DROP INDEX "outbox_epoch_index";--> statement-breakpoint
DROP INDEX "outbox_rest_index";--> statement-breakpoint
ALTER TABLE "deliveries" DROP CONSTRAINT "deliveries_workspace_id_id_pk";--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_workspace_id_webhook_id_id_pk" PRIMARY KEY("workspace_id","webhook_id","id");--> statement-breakpoint
ALTER TABLE "deliveries" ADD COLUMN "request_id" text;--> statement-breakpoint
ALTER TABLE "deliveries" ADD COLUMN "traceparent" text;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "published_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "disabled_reason" text;--> statement-breakpoint
ALTER TABLE "webhook_drains" ADD CONSTRAINT "webhook_drains_webhook_fk" FOREIGN KEY ("workspace_id","webhook_id") REFERENCES "public"."webhooks"("workspace_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "webhook_drains_worker_index" ON "webhook_drains" USING btree ("worker_id") WHERE "webhook_drains"."worker_id" is not null;--> statement-breakpoint
CREATE INDEX "webhook_drains_failing_index" ON "webhook_drains" USING btree ("failing_since") WHERE "webhook_drains"."failing_since" is not null;--> statement-breakpoint
CREATE INDEX "deliveries_pending_index" ON "deliveries" USING btree ("workspace_id","webhook_id","created_at","id") WHERE "deliveries"."status" = 'PENDING';--> statement-breakpoint
CREATE INDEX "deliveries_failed_index" ON "deliveries" USING btree ("workspace_id","webhook_id","id") WHERE "deliveries"."status" in ('FAILED', 'INTERRUPTED');--> statement-breakpoint
CREATE INDEX "outbox_publishing_index" ON "outbox" USING btree ("queue","workspace_id","created_at","id");--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_status_check" CHECK ("status" in ('PENDING', 'SUCCEEDED', 'FAILED', 'INTERRUPTED')) NOT VALID;--> statement-breakpoint
ALTER TABLE "mails" ADD CONSTRAINT "mails_kind_check" CHECK ("mails"."kind" in ('CONFIRMATION', 'CAMPAIGN_TEST', 'INVITE', 'PASSWORD_RESET', 'EMAIL_VERIFICATION', 'WEBHOOK_FAILING', 'WEBHOOK_DISABLED'));
