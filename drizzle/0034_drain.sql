-- One job drains the webhooks of a workspace, with one claim in `work`: see packages/core/src/webhooks/drain/drain-claim.ts.
-- The workers of the release before have ended: see the migration `work`. What they had taken may have been sent.
LOCK TABLE "webhook_drains" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
UPDATE "deliveries" d SET "status" = 'INTERRUPTED', "worker_id" = w."worker_id", "attempted_at" = w."taken_at",
	"error" = 'The worker crashed or lost the database connection during the attempt'
FROM "webhook_drains" w
WHERE w."workspace_id" = d."workspace_id" AND w."webhook_id" = d."webhook_id" AND d."id" = ANY(w."delivery_ids")
	AND w."token" IS NOT NULL AND d."status" = 'PENDING';--> statement-breakpoint
UPDATE "webhook_drains" SET "worker_id" = NULL, "token" = NULL, "delivery_ids" = '{}' WHERE "token" IS NOT NULL;--> statement-breakpoint
ALTER TABLE "work" DROP CONSTRAINT "work_kind_check";--> statement-breakpoint
DROP INDEX "webhook_drains_worker_index";--> statement-breakpoint
ALTER TABLE "webhook_drains" ADD CONSTRAINT "webhook_drains_token_check" CHECK ("webhook_drains"."token" is null);--> statement-breakpoint
ALTER TABLE "work" ADD COLUMN "in_flight" uuid[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "work" ADD CONSTRAINT "work_kind_check" CHECK ("work"."kind" in ('ACCOUNT_MAIL', 'MAIL', 'CAMPAIGN_BATCH', 'IMPORT', 'CLEAR_LIST', 'CLEAR_CUSTOM_FIELD', 'ERASE_CONTACT', 'CLEAR_WORKSPACE', 'DRAIN'));