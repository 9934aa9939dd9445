ALTER TABLE "workspaces" ADD COLUMN "logo_url" text;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "accent_color" text;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD COLUMN "is_removed" boolean DEFAULT false NOT NULL;