DROP INDEX "audit_entries_age_index";--> statement-breakpoint
CREATE INDEX "audit_entries_purge_index" ON "audit_entries" USING btree ("created_at");