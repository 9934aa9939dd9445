-- New ones first, the old ones go at the end: until then contacts can be read, and only who writes them waits.
ALTER INDEX "contacts_source_index" RENAME TO "contacts_old_source_index";--> statement-breakpoint
CREATE INDEX "contacts_source_index" ON "contacts" USING btree ("workspace_id","source","created_at","id") WHERE "contacts"."source" is not null;--> statement-breakpoint
ALTER INDEX "outbox_epoch_index" RENAME TO "outbox_old_epoch_index";--> statement-breakpoint
CREATE INDEX "outbox_epoch_index" ON "outbox" USING btree ("relayed_epoch","relayed_at") WHERE "outbox"."relayed_epoch" is not null;--> statement-breakpoint
CREATE INDEX "outbox_rest_index" ON "outbox" USING btree ("workspace_id") WHERE "outbox"."relayed_epoch" is null or "outbox"."lane" is null;--> statement-breakpoint
DROP INDEX "contacts_old_source_index";--> statement-breakpoint
DROP INDEX "outbox_old_epoch_index";--> statement-breakpoint
DROP INDEX "outbox_workspace_index";
