-- First, so that none who has locked a row waits for this in turn.
LOCK TABLE "contacts", "outbox" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
DROP INDEX "outbox_workspace_index";--> statement-breakpoint
DROP INDEX "contacts_source_index";--> statement-breakpoint
DROP INDEX "outbox_epoch_index";--> statement-breakpoint
CREATE INDEX "outbox_rest_index" ON "outbox" USING btree ("workspace_id") WHERE "outbox"."relayed_epoch" is null or "outbox"."lane" is null;--> statement-breakpoint
CREATE INDEX "contacts_source_index" ON "contacts" USING btree ("workspace_id","source","created_at","id") WHERE "contacts"."source" is not null;--> statement-breakpoint
CREATE INDEX "outbox_epoch_index" ON "outbox" USING btree ("relayed_epoch","relayed_at") WHERE "outbox"."relayed_epoch" is not null;
